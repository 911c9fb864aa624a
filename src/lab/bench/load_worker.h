// LoadWorker: one thread of the load generator, with connections of its own.
//
// Without a rate, each connection sends its next batch as soon as the last is answered. With a rate, batches are due at
// fixed times, whether replies come or not, and a reply's latency counts from the time when its request was due: what
// a slow server makes wait is counted as waiting (no coordinated omission).
//
// Thread safety: run() belongs to one thread; the counts may be read by others at any time, the rest after run().
#pragma once

#include <mete/result.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/bench/histogram.h"
#include "lab/bench/load_connection.h"
#include "lab/bench/requests.h"
#include "lab/bench/scenarios.h"
#include "net/descriptor.h"

namespace mete::lab {

enum class LoadPhase : std::uint8_t {
  kFilling,    // keys in their order, as fast as it goes
  kRunning,    // as it will be measured
  kPaused,     // nothing more is sent until the next phase: what is counted starts at nothing
  kMeasuring,  // latencies are recorded
  kDraining,   // nothing more is sent; ends with the last reply
};

struct LoadPlan {
  Workload workload;
  std::size_t pipeline = 1;
  std::uint64_t keys = 1;
  double batches_per_second = 0;  // of each worker; 0: as fast as it goes
  std::size_t workers = 1;
  std::size_t connections = 1;       // of all workers
  std::uint64_t first_sequence = 0;  // where {seq} begins
  bool is_counted = false;           // LoadControl says how many batches are measured
};

// Shared by the workers, and by whoever conducts the measurement.
struct LoadControl {
  std::atomic<LoadPhase> phase = LoadPhase::kFilling;
  std::atomic<std::int64_t> batches_left = 0;  // of those that are measured, if they are counted
};

struct LoadCounts {
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;
  std::uint64_t denials = 0;
};

class LoadWorker {
 public:
  LoadWorker(const LoadPlan& plan, LoadControl& control, std::size_t index, std::vector<net::Descriptor> sockets);

  void run();

  [[nodiscard]] LoadCounts counts() const;
  // In the phase kPaused: every reply has come.
  [[nodiscard]] bool is_paused() const { return is_paused_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] const Histogram& latencies() const { return latencies_; }
  [[nodiscard]] const std::string& first_error() const { return first_error_; }

 private:
  Result<void> run_until_drained();
  Result<void> watch_connections();
  // Takes note of a new phase.
  Result<void> enter(LoadPhase phase, std::uint64_t now_ns);
  Result<void> start_connections();
  // Whether another batch is to be sent; it is counted as sent if so.
  bool claim_batch();
  Result<void> send_due(std::uint64_t now_ns);
  Result<void> send_batch(LoadConnection& connection, std::uint64_t due_ns);
  Result<void> wait_and_handle();
  Result<void> handle(LoadConnection& connection, std::uint32_t events);
  Result<void> read_replies(LoadConnection& connection);
  void watch(LoadConnection& connection, bool is_new);
  // Moves on to the next operation of a connection.
  void advance(Operation& operation);
  [[nodiscard]] bool is_scheduled() const { return plan_.batches_per_second > 0 && phase_ != LoadPhase::kFilling; }
  [[nodiscard]] std::uint64_t due_ns(std::uint64_t batch) const;
  [[nodiscard]] bool is_drained() const;

  const LoadPlan& plan_;
  LoadControl& control_;
  std::optional<LoadPhase> phase_;  // as of the present round
  std::size_t index_;
  std::vector<LoadConnection> connections_;
  std::vector<RequestBatch> batches_;  // by the step that they begin with
  std::vector<char> room_;
  net::Descriptor epoll_;
  std::uint64_t random_state_;
  std::uint64_t fill_key_;
  std::uint64_t schedule_start_ns_ = 0;
  std::uint64_t scheduled_ = 0;  // batches sent by the schedule
  std::size_t next_connection_ = 0;
  bool is_full_ = false;  // no connection takes what is due
  Histogram latencies_;
  std::string first_error_;
  std::optional<Error> failure_;
  std::atomic<std::uint64_t> replies_ = 0;
  std::atomic<std::uint64_t> errors_ = 0;
  std::atomic<std::uint64_t> denials_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_paused_ = false;
};

}  // namespace mete::lab
