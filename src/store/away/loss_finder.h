// LossFinder: finds that a store elsewhere has lost its state: that it was wiped, replaced by another one, or restored
// from a copy.
//
// It keeps numbers in the store, as overrides of a reserved limit, which outlive FLUSHALL:
//
//     identity     a random number. It is gone in a store that was wiped, and another one in a store that was replaced
//     seen-N       when one server last saw the store. It has gone back in one that was restored from a copy, or has
//                  failed over to a copy that was behind by more than kBackMax
//     lost-at      since when takes are refused for a loss; 1: they are not any more
//     refilled-at  when the last of the lost meters will be as a fresh one
//
// Each server compares its own time: who shared one could hide from the others that it had gone back. Whoever finds a
// wiped or restored store gives it a new identity, so that all others notice at their next look.
//
// Thread safety: none.
#pragma once

#include <mete/clock.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace mete::store {

class LossFinder {
 public:
  static constexpr std::string_view kLimit = "mete.store";
  static constexpr std::string_view kIdentityKey = "identity";
  static constexpr std::string_view kLostAtKey = "lost-at";
  static constexpr std::string_view kRefilledAtKey = "refilled-at";
  static constexpr Duration kSeenEvery = std::chrono::seconds(10);
  static constexpr Duration kBackMax = std::chrono::minutes(1);

  // Borrowed. `clock` tells how long things take; null: the machine's.
  LossFinder(Store& store, const Clock* clock) : store_(store), clock_(clock) {}

  // `identity`: as it has just been read. An error: the store was not reached.
  Result<void> begin(std::optional<Amount> identity);
  // Why the state is thought to be lost since the last call; none: it is not.
  Result<std::optional<std::string>> find(std::optional<Amount> identity);
  // Whether a loss was found here that other servers do not see by themselves: settle() tells them.
  [[nodiscard]] bool has_found() const { return needs_identity_; }
  // Writes what is due: after a loss, what tells the other servers of it.
  Result<void> settle();
  // A moment after a new identity: others may have made one as well, and the last one is believed.
  [[nodiscard]] bool is_settling() const;

  Result<std::optional<Amount>> read(std::string_view key);
  Result<void> write(std::string_view key, Amount number);

 private:
  // A server has one of so many times; one that is so old is nobody's any more.
  static constexpr std::uint64_t kPlaces = 4096;
  static constexpr int kTriesMax = 8;
  static constexpr Duration kNobodysAfter = std::chrono::hours(1);

  Result<void> find_place();
  Result<std::optional<std::string>> compare_time();
  [[nodiscard]] Instant clock_now() const;
  [[nodiscard]] Amount seconds_there() const { return static_cast<Amount>(store_.now().unix_seconds()); }

  Store& store_;
  const Clock* const clock_;
  std::optional<Amount> identity_;
  bool needs_identity_ = false;
  std::optional<Instant> renewed_at_;
  std::string seen_key_;
  Amount first_seen_ = 0;  // what this server wrote first under its key
  Amount seen_ = 0;        // and last; zero: it is to be written anew
  std::optional<Instant> seen_at_;
};

}  // namespace mete::store
