// LimitBook: the limits as they are known to this process. A copy of mete.limits, replaced as a whole when another
// process has changed something there.
//
// Thread safety: a book never changes; whoever has one keeps it for an operation.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/table/limit_table.h"
#include "store/redis/limit_entry.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {

// What the kinds are called in the scripts' terms, in their order.
inline constexpr std::string_view kKindLetters = "bwsck";

// A limit with what operations on it need at hand.
class KnownLimit {
 public:
  // Refuses a calendar whose zone or anchor does not exist here.
  static Result<std::unique_ptr<KnownLimit>> make(LimitEntry entry);

  struct Revision {
    std::uint64_t rev = 0;
    int slot = kNoSlot;
    std::uint64_t until_us = 0;
    std::unique_ptr<engine::RuleRecord> rule;
  };

  [[nodiscard]] const LimitEntry& entry() const { return entry_; }
  [[nodiscard]] const Limit& definition() const { return *entry_.definition; }
  [[nodiscard]] const engine::LimitRecord& record() const { return *record_; }
  [[nodiscard]] const engine::RuleRecord& rule() const { return *rule_; }
  [[nodiscard]] const std::vector<Revision>& earlier() const { return earlier_; }
  [[nodiscard]] const std::optional<BucketTimes>& times() const { return times_; }
  // The terms of the scripts (lua/meter.lua); a calendar's are those of the period that holds this time.
  [[nodiscard]] std::string terms(std::uint64_t now_us) const;
  // What a charge adds to a plain value, in microseconds; none if lua/charge.lua is not to make it: a charge of no
  // whole number, or of more or less than there can be, or on a limit without plain values, or that only watches.
  [[nodiscard]] std::optional<std::uint64_t> plain_charge_us(Amount cost) const;
  // Whether charges are lua/count_each.lua's: on a window, a calendar or a stock that does not only watch.
  [[nodiscard]] bool is_counted() const;
  // Whether such a charge is lua/slide_each.lua's: on a sliding window that does not only watch.
  [[nodiscard]] bool is_sliding(Amount cost) const;
  // For these scripts, at this time: the values of the window up to what is used, and the window; of other kinds
  // the values up to the state.
  struct Counted {
    std::string head;
    std::uint64_t starts_us = 0;
    std::uint64_t ends_us = kNeverUs;
  };
  static constexpr std::uint64_t kNeverUs = std::uint64_t{1} << 53;
  [[nodiscard]] Counted counted(std::uint64_t now_us) const;

 private:
  explicit KnownLimit(LimitEntry entry) : entry_(std::move(entry)) {}

  LimitEntry entry_;
  std::unique_ptr<engine::RuleRecord> rule_;
  std::unique_ptr<engine::LimitRecord> record_;
  std::vector<Revision> earlier_;
  std::optional<BucketTimes> times_;
  std::string terms_;          // of all kinds but calendars
  std::uint64_t unit_us_ = 0;  // what one unit adds to a plain value, if that is a whole number
};

class LimitBook {
 public:
  // `fields`: what HGETALL of mete.limits says.
  static Result<std::shared_ptr<const LimitBook>> read(const wire::RespValue& fields);

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Null if there is none of that name.
  [[nodiscard]] const KnownLimit* find(std::string_view name) const;
  // Why a limit's field cannot be read; none if it can, or if there is none. The others go on.
  [[nodiscard]] std::optional<Error> unreadable(std::string_view name) const;
  [[nodiscard]] const std::unordered_map<std::string, LimitEntry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<std::string> names() const;  // sorted

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  Result<void> add(const std::string& name, std::string_view text);

  std::uint64_t generation_ = 0;
  std::uint64_t epoch_ = 0;
  std::unordered_map<std::string, LimitEntry> entries_;  // dropped ones too
  std::unordered_map<std::string, std::unique_ptr<KnownLimit>, Hash, std::equal_to<>> limits_;
  std::unordered_map<std::string, Error, Hash, std::equal_to<>> unreadable_;
};

}  // namespace mete::store::redis
