// MeterImage: a meter as Redis has it (lua/meter.lua draws the format), opened as the engine knows meters, so that
// answers are told by the same code. Pure.
//
// Ownership: an image owns everything its access points to, and stays where it is.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/meter_access.h"
#include "store/redis/limit_book.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {

inline Instant instant_of(std::uint64_t us) { return Instant::from_ns(us * 1000); }
inline std::uint64_t us_of(Instant at) { return at.ns() / 1000; }

struct MeterValue;  // what a value in Redis says, whatever its limit

// A sliding meter's state as its value has it behind the revision, or without what the newest charge has: then that is
// all that is used. None if it can have no such state.
std::optional<core::SlidingState> read_sliding(const core::Rule& rule, std::string_view state);

class MeterImage {
 public:
  MeterImage(const MeterImage&) = delete;
  MeterImage& operator=(const MeterImage&) = delete;

  // A meter as it was found: its value ("" for none) and the fields of its held parts. It is brought to this time:
  // through the limit's revisions, with the parts that expire on the way. Null: the value is of a revision that is
  // not known here yet.
  static Result<std::unique_ptr<MeterImage>> found(const KnownLimit& limit, std::string_view key, std::string_view text,
                                                   const wire::RespValue& parts, std::uint64_t now_us);
  // A meter as a script tells it: by its terms, settled at that time. `state`: the value, then the parts.
  static Result<std::unique_ptr<MeterImage>> told(std::string_view limit, std::string_view key, std::string_view terms,
                                                  const wire::RespValue& state, std::uint64_t now_us);
  // A plain bucket that is full at this time.
  static std::unique_ptr<MeterImage> plain(const KnownLimit& limit, std::string_view key, std::uint64_t full_us,
                                           std::uint64_t now_us);

  // Whether a value is of the limit's present revision.
  static bool is_of_present_revision(const KnownLimit& limit, std::string_view text);

  engine::MeterAccess& access() { return access_; }
  [[nodiscard]] std::optional<Amount> own_amount() const { return own_amount_; }
  // Gives the key another amount, or none; what is in use stays in use.
  void set_own_amount(const KnownLimit& limit, std::optional<Amount> amount);

  // For putting it in the place of what was found.
  struct Text {
    std::string value;                      // "": there is nothing to keep
    std::optional<std::uint64_t> until_us;  // none: for ever
    std::vector<std::string> parts;         // field and text in turn
  };
  [[nodiscard]] Text text(const KnownLimit& limit) const;
  // The count of changes of the parts as they were found; empty if there were none.
  [[nodiscard]] const std::string& parts_version() const { return parts_version_; }

 private:
  MeterImage() = default;

  const engine::RuleRecord& rule_of(const engine::RuleRecord& limit_rule);
  bool read_state(const MeterValue& value);
  Result<void> read_parts(const wire::RespValue& fields);
  void expire_parts(Instant until);
  void rebase(const engine::RuleRecord& to, Instant at);
  void settle(Instant now);

  engine::MeterAccess access_;
  std::unique_ptr<engine::LimitRecord> own_record_;
  std::unique_ptr<engine::RuleRecord> own_rule_;
  std::unique_ptr<engine::RuleRecord> previous_rule_;  // while it is rebased
  engine::MemoryGauge memory_{0};
  engine::HeldParts parts_{memory_};
  std::optional<Amount> own_amount_;
  std::string parts_version_;
  std::string key_;
  std::string limit_name_;
};

}  // namespace mete::store::redis
