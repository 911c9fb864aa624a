// KeyHistory: calls on a handful of keys with their times, run through a store and through the model; every answer must
// be the same. As history.h, for keys.
#pragma once

#include <mete/clock.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/times.h"
#include "store/keys.h"

namespace mete::model {

enum class KeyCall : std::uint8_t {
  kGet,
  kSet,
  kTakeOut,
  kAdd,
  kAddBounded,
  kQuotaSet,
  kQuotaGet,
  kQuotaRemove,
  kQuotaTake,
  kThrottle,
  kType,
  kRemove,
  kExpiresAt,
  kExpire,
  kPersist,
  kList,
};
inline constexpr std::int64_t kKeyCalls = 16;

struct KeyOperation {
  Instant at;                                         // what the clock says; it may have been set back
  Duration resolution = std::chrono::nanoseconds(1);  // its answer tells waits and ends rounded up to this
  KeyCall call = KeyCall::kGet;
  std::string key;
  std::int64_t by = 1;
  store::Expiry expiry;
  store::ExpiryCondition expiry_condition = store::ExpiryCondition::kAlways;
  store::SetCounter set;      // its key and expiry are those above
  store::AddBounded bounded;  // and so are these, and what is added
  store::QuotaRule quota;
  store::ThrottleRequest throttle;
};
using KeyHistory = std::vector<KeyOperation>;

std::string to_text(const KeyOperation& operation);

// The answer in words; an error is its code.
std::string execute(store::Store& store, const KeyOperation& operation);

// Sets the clock. A refused call does not read it, but a store's sweep may: so where it is set back, `look` first lets
// everybody see the time before.
void set_clock(ManualClock& clock, Instant at, const std::function<void(const KeyOperation&)>& look);

// The same seed makes the same history.
KeyHistory random_key_history(std::uint64_t seed, int operations, const Times& times = {});

// Runs a history through the model and through `subject`, which goes by this clock: it has the operation's time before
// the subject is asked.
using KeySubject = std::function<std::string(const KeyOperation&)>;
using KeySubjectFactory = std::function<KeySubject(const Clock&)>;

struct KeySearch {
  std::uint64_t seed = 1;
  int histories = 2000;
  int operations = 80;
  Times times = {};
};

// On a difference: a report with the seed, the shortest history that still differs, and both answers.
std::optional<std::string> find_key_difference(const KeySubjectFactory& factory, const KeySearch& search);

}  // namespace mete::model
