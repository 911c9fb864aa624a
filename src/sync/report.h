// What is told of syncs: how a run goes and what it has found and done, and what the runs of a plan came to.
// Thread safety: values.
#pragma once

#include <mete/limit.h>
#include <mete/time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sync/plan.h"

namespace mete::sync {

// How many of the largest differences a report lists.
inline constexpr std::size_t kDifferencesMax = 20;

enum class Outcome : std::uint8_t {
  kDone,     // of a dry run: all that would be done is told
  kRefused,  // more would change than max_change allows; nothing has
  kBusy,     // it is running elsewhere
  kFailed,   // the message says why
};
inline constexpr std::size_t kOutcomes = 4;

std::string_view to_string(Outcome outcome);

struct Difference {
  std::string key;
  Amount used = 0;   // by what the store had counted
  Amount truth = 0;  // by what the source says
  [[nodiscard]] Amount change() const { return truth - used; }

  bool operator==(const Difference&) const = default;
};

// How one run is made.
struct RunOptions {
  bool is_dry_run = false;
  bool is_forced = false;  // whatever max_change says

  bool operator==(const RunOptions&) const = default;
};

struct Report {
  std::string limit = {};
  RunOptions options = {};
  Outcome outcome = Outcome::kFailed;
  std::string message = {};  // of all outcomes but kDone
  Instant started_at = {};
  Duration took = {};

  std::uint64_t keys = 0;          // that the query has returned
  std::uint64_t missing_keys = 0;  // in use, and not returned
  std::uint64_t differing_keys = 0;
  std::uint64_t changed_keys = 0;
  std::int64_t used = 0;   // in all, by the store
  std::int64_t drift = 0;  // the sum of all differences, whatever their sign
  std::vector<Difference> largest = {};
};

enum class Stage : std::uint8_t { kMarking, kReading, kApplying };

std::string_view to_string(Stage stage);

struct Progress {
  Stage stage = Stage::kMarking;
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // 0: nobody knows
};

enum class RunState : std::uint8_t { kWaiting, kRunning, kEnded };

struct RunRecord {
  std::uint64_t number = 0;
  bool is_scheduled = false;
  RunState state = RunState::kWaiting;
  Progress progress = {};  // while it runs
  Report report = {};      // complete once it has ended

  // "waiting", "running", or how it has ended.
  [[nodiscard]] std::string_view state_text() const;
};

// A plan, and what its runs came to. Dry runs are not counted.
struct PlanStatus {
  Plan plan = {};
  std::optional<Instant> next_at = {};
  std::array<std::uint64_t, kOutcomes> runs = {};  // by their outcome
  std::optional<Instant> last_success_at = {};
  std::optional<Report> last = {};
};

}  // namespace mete::sync
