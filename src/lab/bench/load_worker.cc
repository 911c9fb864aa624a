#include "lab/bench/load_worker.h"

#include <sys/epoll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

#include "base/check.h"
#include "base/errors.h"
#include "base/math.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/try.h"
#include "lab/sim/random.h"

namespace mete::lab {

namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kEventsMax = 256;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWaitMax = kSecond / 100;          // so that a new phase is noticed
constexpr std::uint64_t kPauseWaitMax = kSecond / 10'000;  // the time is measured from its end on
constexpr std::uint64_t kDrainMax = kSecond;
constexpr unsigned long kTimerSlack = 1'000;  // the system's 50 us would be seen in the latencies

// Only one thread adds, so that a plain load and store are enough.
void add(std::atomic<std::uint64_t>& count, std::uint64_t more) {
  count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

Error system_failure(std::string_view what) {
  return base::unavailable(std::string(what) + ": " + std::generic_category().message(errno));
}

}  // namespace

LoadWorker::LoadWorker(const LoadPlan& plan, LoadControl& control, std::size_t index,
                       std::vector<net::Descriptor> sockets)
    : plan_(plan),
      control_(control),
      index_(index),
      room_(kReadBytes),
      random_state_(base::random_number()),
      fill_key_(index) {
  for (net::Descriptor& socket : sockets) {
    LoadConnection& connection = connections_.emplace_back(std::move(socket), plan.workload.is_http);
    // Each connection has numbers of its own: those that leave its place as the rest when divided by all places.
    connection.operation.sequence = plan.first_sequence + index + (connections_.size() - 1) * plan.workers;
  }
  for (std::size_t step = 0; step < plan.workload.steps.size(); ++step) {
    batches_.emplace_back(plan.workload.steps, step, plan.pipeline, plan.keys);
  }
}

void LoadWorker::run() {
  ::prctl(PR_SET_TIMERSLACK, kTimerSlack, 0, 0, 0);
  const auto done = run_until_drained();
  if (done) return;
  failure_ = done.error();
  has_failed_.store(true, std::memory_order_release);
}

LoadCounts LoadWorker::counts() const {
  return {.replies = replies_.load(std::memory_order_relaxed),
          .errors = errors_.load(std::memory_order_relaxed),
          .denials = denials_.load(std::memory_order_relaxed)};
}

Result<void> LoadWorker::run_until_drained() {
  TRY(watch_connections());
  std::uint64_t drain_until_ns = 0;
  for (;;) {
    const std::uint64_t now_ns = base::monotonic_ns();
    TRY(enter(control_.phase.load(std::memory_order_acquire), now_ns));
    if (phase_ == LoadPhase::kDraining) {
      if (drain_until_ns == 0) drain_until_ns = now_ns + kDrainMax;
      if (is_drained() || now_ns > drain_until_ns) return {};
    } else if (phase_ == LoadPhase::kPaused) {
      if (is_drained()) is_paused_.store(true, std::memory_order_release);
    } else if (is_scheduled()) {
      TRY(send_due(now_ns));
    }
    TRY(wait_and_handle());
  }
}

// Without a rate, each reply makes the next batch go: where there were none under way, the first ones go here. With
// one, time begins with the phase, unless it goes on from the last.
Result<void> LoadWorker::enter(LoadPhase phase, std::uint64_t now_ns) {
  if (phase_ == phase) return {};
  const bool was_silent = !phase_ || phase_ == LoadPhase::kPaused;
  const bool was_filling = phase_ == LoadPhase::kFilling;
  phase_ = phase;
  if (phase == LoadPhase::kPaused || phase == LoadPhase::kDraining) return {};
  if (is_scheduled() && (was_silent || was_filling)) {
    schedule_start_ns_ = now_ns;
    scheduled_ = 0;
  }
  return was_silent && !is_scheduled() ? start_connections() : Result<void>();
}

Result<void> LoadWorker::start_connections() {
  for (LoadConnection& connection : connections_) {
    if (!claim_batch()) break;
    TRY(send_batch(connection, base::monotonic_ns()));
  }
  return {};
}

bool LoadWorker::claim_batch() {
  if (phase_ == LoadPhase::kPaused || phase_ == LoadPhase::kDraining) return false;
  return !plan_.is_counted || phase_ != LoadPhase::kMeasuring ||
         control_.batches_left.fetch_sub(1, std::memory_order_relaxed) > 0;
}

Result<void> LoadWorker::watch_connections() {
  epoll_ = net::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return system_failure("epoll_create1");
  for (LoadConnection& connection : connections_) {
    watch(connection, true);
  }
  return {};
}

// Replies are always waited for; room to write only when something is left to send.
void LoadWorker::watch(LoadConnection& connection, bool is_new) {
  epoll_event event = {};
  event.events = EPOLLIN | (connection.has_unsent() ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.ptr = &connection;
  CHECK(::epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.socket(), &event) == 0);
}

Result<void> LoadWorker::send_due(std::uint64_t now_ns) {
  std::size_t full = 0;  // connections in a row that take no more
  while (full < connections_.size() && due_ns(scheduled_) <= now_ns) {
    LoadConnection& connection = connections_[next_connection_];
    next_connection_ = (next_connection_ + 1) % connections_.size();
    if (!connection.has_room()) {
      ++full;
      continue;
    }
    full = 0;
    if (!claim_batch()) return {};
    TRY(send_batch(connection, due_ns(scheduled_)));
    ++scheduled_;
  }
  is_full_ = full == connections_.size();
  return {};
}

Result<void> LoadWorker::send_batch(LoadConnection& connection, std::uint64_t due_ns) {
  const bool had_unsent = connection.has_unsent();
  const std::string_view bytes =
      batches_[connection.step].fill(connection.operation, [this](Operation& operation) { advance(operation); });
  connection.step = (connection.step + plan_.pipeline) % batches_.size();
  TRY(connection.send(bytes, plan_.pipeline, due_ns));
  if (!had_unsent && connection.has_unsent()) watch(connection, false);
  return {};
}

Result<void> LoadWorker::wait_and_handle() {
  std::uint64_t wait_ns = phase_ == LoadPhase::kPaused ? kPauseWaitMax : kWaitMax;
  if (is_scheduled() && phase_ != LoadPhase::kPaused && phase_ != LoadPhase::kDraining) {
    const std::uint64_t now_ns = base::monotonic_ns();
    const std::uint64_t due = due_ns(scheduled_);
    // What is due and was not sent waits for room: replies will make it. Or it has become due just now.
    if (!is_full_) wait_ns = due > now_ns ? std::min(wait_ns, due - now_ns) : 0;
  }
  const timespec timeout = {.tv_sec = 0, .tv_nsec = static_cast<long>(wait_ns)};
  std::array<epoll_event, kEventsMax> events = {};
  const int ready = ::epoll_pwait2(epoll_.get(), events.data(), kEventsMax, &timeout, nullptr);
  if (ready < 0 && errno != EINTR) return system_failure("epoll_pwait2");
  for (int index = 0; index < ready; ++index) {
    const epoll_event& event = events[static_cast<std::size_t>(index)];
    TRY(handle(*static_cast<LoadConnection*>(event.data.ptr), event.events));
  }
  return {};
}

Result<void> LoadWorker::handle(LoadConnection& connection, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0 && connection.has_unsent()) {
    TRY(connection.send_rest());
    if (!connection.has_unsent()) watch(connection, false);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return {};
  TRY(read_replies(connection));
  if (!connection.is_idle() || is_scheduled() || !claim_batch()) return {};
  return send_batch(connection, base::monotonic_ns());
}

Result<void> LoadWorker::read_replies(LoadConnection& connection) {
  LoadCounts seen;
  const auto replies = TRY(connection.receive(room_, [&](const wire::SkimmedReply& reply) {
    if (reply.is_error) {
      ++seen.errors;
      if (first_error_.empty()) first_error_ = reply.error;
    } else if (reply.has_integer && plan_.workload.denial == reply.integer) {
      ++seen.denials;
    }
  }));
  add(replies_, replies);
  add(errors_, seen.errors);
  add(denials_, seen.denials);
  const std::uint64_t now_ns = base::monotonic_ns();
  return connection.settle(replies, [&](std::uint64_t due, std::size_t answered) {
    if (phase_ == LoadPhase::kMeasuring) latencies_.record(now_ns > due ? now_ns - due : 0, answered);
  });
}

void LoadWorker::advance(Operation& operation) {
  operation.sequence += plan_.connections;
  if (phase_ == LoadPhase::kFilling) {
    operation.key = fill_key_ % plan_.keys;
    fill_key_ += plan_.workers;
    return;
  }
  operation.key = static_cast<std::uint64_t>(base::multiply(sim::split_mix(random_state_), plan_.keys) >> 64);
}

std::uint64_t LoadWorker::due_ns(std::uint64_t batch) const {
  // Workers take turns.
  const double turn = static_cast<double>(index_) / static_cast<double>(plan_.workers);
  const double after = (static_cast<double>(batch) + turn) / plan_.batches_per_second * static_cast<double>(kSecond);
  return schedule_start_ns_ + static_cast<std::uint64_t>(after);
}

bool LoadWorker::is_drained() const {
  return std::all_of(connections_.begin(), connections_.end(), [](const auto& each) { return each.is_idle(); });
}

}  // namespace mete::lab
