// Worker: a thread that runs syncs one after the other, by their schedules and when they are asked for, and remembers
// how they went.
//
// Ownership: borrows the store. Thread safety: every call from any thread; none waits for a run.
#pragma once

#include <mete/result.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "sync/cron.h"
#include "sync/report.h"
#include "sync/source.h"

namespace mete::store {
class Store;
}

namespace mete::sync {

inline constexpr std::size_t kHistoryMax = 100;
// Runs that wait for their turn.
inline constexpr std::size_t kWaitingMax = 100;

class Worker {
 public:
  struct Hooks {
    std::function<Result<std::unique_ptr<Source>>(const Plan&)> open_source;
    // On the worker's thread, after each run.
    std::function<void(const RunRecord&)> on_end = {};
  };

  Worker(store::Store& store, Hooks hooks);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Ends a run that is under way: what it has not changed yet stays as it is.
  ~Worker();

  // These and no others, from now on. No two are for the same limit. An error, of a schedule, has changed nothing.
  Result<void> set_plans(std::vector<Plan> plans);

  // Starts a run, or has it wait for its turn, and returns its number. One that waits already, with the same options,
  // is the one.
  Result<std::uint64_t> start(std::string_view limit, const RunOptions& options);

  [[nodiscard]] std::vector<PlanStatus> plans() const;
  // The last one first.
  [[nodiscard]] std::vector<RunRecord> runs() const;

 private:
  struct Planned {
    PlanStatus status;
    std::optional<Cron> cron;
  };

  static Result<void> schedule(Planned& planned, Instant now);
  void work();
  void queue_due();
  // None if too many are waiting already.
  std::optional<std::uint64_t> queue(std::string_view limit, const RunOptions& options, bool is_scheduled);
  [[nodiscard]] RunRecord* first_waiting();
  Report run(const Plan& plan, const RunOptions& options, std::uint64_t number);
  void end(std::uint64_t number, Report report);
  void forget_old();
  [[nodiscard]] Planned* find(std::string_view limit);
  [[nodiscard]] RunRecord* find(std::uint64_t number);

  store::Store& store_;
  const Hooks hooks_;
  mutable std::mutex mutex_;  // guards what is below
  std::condition_variable signal_;
  std::vector<Planned> planned_;
  std::deque<RunRecord> records_;  // the oldest first
  std::uint64_t next_number_ = 1;
  Source* source_ = nullptr;  // of the run that is under way
  bool is_stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::sync
