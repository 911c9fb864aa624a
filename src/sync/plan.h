// Plan: what is synced from where, and when, as [[sync]] says it. Thread safety: values.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mete::sync {

inline constexpr Duration kTimeoutMin = std::chrono::seconds(1);
inline constexpr Duration kTimeoutMax = std::chrono::hours(24);
inline constexpr std::int64_t kPercentMax = 10'000;

// What becomes of keys that are in use and that the query does not return.
enum class Missing : std::uint8_t {
  kKeep,
  kZero,
};

// Beyond which sum of changes a run is refused.
class MaxChange {
 public:
  // "20%" of all that is used, or a number of units.
  static Result<MaxChange> parse(std::string_view text);

  // Whether this is too much. Where nothing is used there is nothing to compare with: then no percentage is.
  [[nodiscard]] bool is_passed(std::int64_t change, std::int64_t used) const;
  [[nodiscard]] std::string text() const;

  bool operator==(const MaxChange&) const = default;

 private:
  MaxChange(std::int64_t number, bool is_percent) : number_(number), is_percent_(is_percent) {}

  std::int64_t number_;
  bool is_percent_;
};

struct Plan {
  std::string limit = {};
  std::string source = {};  // postgres://…
  std::string query = {};
  std::string schedule = {};  // of cron; empty: only when it is asked for
  std::string zone = "UTC";
  Missing missing = Missing::kKeep;
  std::optional<MaxChange> max_change = {};
  Duration timeout = std::chrono::minutes(10);  // of the query

  bool operator==(const Plan&) const = default;
};

inline constexpr std::string_view kMissingNames = "keep|zero";
std::string_view to_string(Missing missing);

// All that can be told without asking the store or the source. The message begins with the field that it is about.
Result<void> check_plan(const Plan& plan);
// That usage of this limit can be synced at all.
Result<void> check_kind(const Limit& limit);

}  // namespace mete::sync
