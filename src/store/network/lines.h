// Lines: the connections to one server, whatever its protocol, and the breaker that keeps callers from waiting for a
// server that is away.
//
// Calls of the fibers of one event loop share connections (store/network/line.h): as many calls as there are can be
// under way. A plain thread has a connection to itself for the time of a call; the one given back last is borrowed
// first, so that those beyond need grow old and go. One that the server has closed meanwhile, by a restart or a
// failover, is seen before anything is sent.
//
//     auto lease = lines.borrow(deadline);
//     … lease->line …
//     lines.give_back(std::move(*lease));         // or drop(), if not all answers have come
//
// While the server is away one caller at a time tries it, after pauses (store/breaker.h); the others fail at once. A
// server is not away because one call of it takes too long, if it has answered another one meanwhile.
//
// `Line` has what store/network/line.h gives it, and is_quiet(), address() and unavailable(reason).
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/try.h"
#include "net/event_loop.h"
#include "net/signal.h"
#include "store/breaker.h"
#include "store/remote.h"

namespace mete::store {

template <class Line>
class Lines {
 public:
  using Failure = typename Line::Failure;
  template <class T>
  using Outcome = Result<T, Failure>;

  struct Settings {
    std::string server;                                                             // its name in errors
    std::function<Outcome<std::shared_ptr<Line>>(const net::Deadline&)> open = {};  // a new connection
    std::function<void()> on_loss = [] {};  // a connection has gone; called with a lock held
    // Connections at most. The fibers of each loop have one at least.
    std::size_t connections_max = std::numeric_limits<std::size_t>::max();
    // Of the fibers of one loop: at most; and another one is worth its while when so many calls wait on each.
    std::size_t shared_max = 4;
    std::size_t calls_worth_another = 512;
    // A server that refuses a connection while it has others of these is there, and gives no more.
    bool others_vouch = false;
    Duration idle_max = std::chrono::minutes(1);
  };

  // A connection for the time of a call.
  struct Lease {
    std::shared_ptr<Line> line;
    bool is_shared = false;
    Breaker::Admission admission = Breaker::Admission::kRefused;
    Instant since = {};
  };

  explicit Lines(Settings settings) : settings_(std::move(settings)) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() = default;

  // A connection that may be used, or a new one.
  Outcome<Lease> borrow(const net::Deadline& deadline);
  // All answers have come.
  void give_back(Lease lease);
  // Not all of them have. `is_silent`: the server did not answer in time.
  void drop(const Lease& lease, bool is_silent);

  [[nodiscard]] bool is_away() const {
    const std::lock_guard lock(mutex_);
    return breaker_.is_open();
  }
  // Of the open connections.
  [[nodiscard]] std::vector<std::string> addresses() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const auto& [address, connections] : connections_) all.push_back(address);
    return all;
  }
  void add_to(RemoteStatus& status) const {
    const std::lock_guard lock(mutex_);
    status.connections += count();
    status.reconnects += reconnects_;
  }

 private:
  static constexpr std::size_t kIdleConnectionsMax = 256;

  struct Idle {
    std::shared_ptr<Line> line;
    Instant since;
  };
  // The connections of a loop's fibers. It is that loop's thread alone that looks at them.
  struct Shared {
    std::vector<Idle> lines;
    bool is_opening = false;
    net::Signal opened;  // or not: then `failure` says why
    std::optional<Failure> failure;
    std::uint64_t failures_seen = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  // For a plain thread.
  Outcome<void> wait_for_room(Lock& lock, const net::Deadline& deadline);
  [[nodiscard]] std::shared_ptr<Line> take_idle();
  // For a fiber.
  Outcome<std::shared_ptr<Line>> find_shared(Shared& shared, const net::Deadline& deadline);
  Outcome<std::shared_ptr<Line>> open_shared(Shared& shared, const net::Deadline& deadline);
  [[nodiscard]] bool is_worth_another(const Shared& shared, std::size_t waiting) const;
  void forget_retired(Shared& shared);

  Outcome<std::shared_ptr<Line>> open(const net::Deadline& deadline);
  // With mutex_ locked, all below.
  [[nodiscard]] std::size_t count() const;
  void end_lease();
  void forget(const Line& line);
  void fail(Breaker::Admission admission, Failure reason);

  const Settings settings_;
  mutable std::mutex mutex_;
  net::Signal room_;                                // a lease has ended, or the breaker opened
  Breaker breaker_;                                 // under mutex_, as all below
  std::size_t leased_ = 0;                          // to plain threads, or being opened for one
  std::vector<Idle> idle_;                          // the last was used last
  std::map<const net::EventLoop*, Shared> shared_;  // but for its parts
  std::map<std::string, std::size_t> connections_;  // that are open, by address
  std::uint64_t lost_ = 0;                          // connections that nothing has replaced yet
  std::uint64_t reconnects_ = 0;
  Instant answered_at_;                      // when the latest call was answered
  std::optional<Failure> last_failure_;      // why the breaker is open
  std::atomic<std::uint64_t> failures_ = 0;  // of the server: what was connected before is not trusted
};

template <class Line>
auto Lines<Line>::borrow(const net::Deadline& deadline) -> Outcome<Lease> {
  Lease lease{.line = nullptr, .is_shared = net::is_on_fiber()};
  Shared* shared = nullptr;
  {
    Lock lock(mutex_);
    if (!lease.is_shared) {
      TRY(wait_for_room(lock, deadline));
    }
    lease.since = base::monotonic_now();
    lease.admission = breaker_.admit(lease.since);
    if (lease.admission == Breaker::Admission::kRefused) return *last_failure_;
    if (lease.is_shared) {
      shared = &shared_[net::EventLoop::current()];
    } else {
      ++leased_;
    }
  }
  if (!lease.is_shared) lease.line = take_idle();
  if (lease.line) return lease;
  auto line = lease.is_shared ? find_shared(*shared, deadline) : open(deadline);
  if (line) {
    lease.line = std::move(*line);
    return lease;
  }
  const std::lock_guard lock(mutex_);
  if (!lease.is_shared) end_lease();
  const bool is_vouched_for =
      settings_.others_vouch && !connections_.empty() && lease.admission != Breaker::Admission::kTrial;
  if (!is_vouched_for) fail(lease.admission, line.error());
  return line.error();
}

template <class Line>
auto Lines<Line>::wait_for_room(Lock& lock, const net::Deadline& deadline) -> Outcome<void> {
  const auto has_room = [this] { return leased_ < settings_.connections_max; };
  room_.wait(lock, deadline, [&] { return has_room() || breaker_.is_open(); });
  if (has_room()) return {};
  if (breaker_.is_open()) return *last_failure_;
  return Line::unavailable("all " + std::to_string(settings_.connections_max) + " connections to " + settings_.server +
                           " were in use for " + base::duration_text(deadline.timeout()) +
                           "; more are allowed by pool=… in its URL");
}

template <class Line>
std::shared_ptr<Line> Lines<Line>::take_idle() {
  Lock lock(mutex_);
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    const bool is_young = base::monotonic_now() - last.since <= settings_.idle_max;
    if (is_young && last.line->is_quiet()) return std::move(last.line);
    lock.lock();
    forget(*last.line);
  }
  return nullptr;
}

template <class Line>
auto Lines<Line>::find_shared(Shared& shared, const net::Deadline& deadline) -> Outcome<std::shared_ptr<Line>> {
  forget_retired(shared);
  const auto least = [&shared] {
    return std::ranges::min_element(shared.lines, {}, [](const Idle& each) { return each.line->waiting(); });
  };
  const bool has_some = !shared.lines.empty();
  if (has_some && (shared.is_opening || !is_worth_another(shared, least()->line->waiting()))) {
    least()->since = base::monotonic_now();
    return least()->line;
  }
  if (!shared.is_opening) {
    // One more is worth some of the time, and not the call.
    auto line = open_shared(shared, has_some ? deadline.share(2) : deadline);
    if (line || shared.lines.empty()) return line;
    return least()->line;
  }
  {
    Lock lock(mutex_);
    if (!shared.opened.wait(lock, deadline, [&] { return !shared.is_opening; })) {
      return Line::unavailable("cannot connect to " + settings_.server + " in time");
    }
    if (shared.failure) return *shared.failure;
  }
  return find_shared(shared, deadline);
}

template <class Line>
bool Lines<Line>::is_worth_another(const Shared& shared, std::size_t waiting) const {
  if (waiting < settings_.calls_worth_another || shared.lines.size() >= settings_.shared_max) return false;
  const std::lock_guard lock(mutex_);
  return shared.lines.size() < settings_.connections_max / shared_.size() && count() < settings_.connections_max;
}

// One opens, and others wait for that.
template <class Line>
auto Lines<Line>::open_shared(Shared& shared, const net::Deadline& deadline) -> Outcome<std::shared_ptr<Line>> {
  shared.is_opening = true;
  auto line = open(deadline);
  if (line) shared.lines.push_back({*line, base::monotonic_now()});
  const std::lock_guard lock(mutex_);
  shared.failure = line ? std::nullopt : std::optional(line.error());
  shared.is_opening = false;
  shared.opened.notify_all();
  return line;
}

template <class Line>
void Lines<Line>::forget_retired(Shared& shared) {
  const std::uint64_t failures = failures_.load(std::memory_order_relaxed);
  const bool are_doubtful = std::exchange(shared.failures_seen, failures) != failures;
  std::erase_if(shared.lines, [&](const Idle& each) {
    const auto is_over = [&] {
      if (each.line->is_retired() || are_doubtful) return true;
      if (each.line->waiting() > 0) return false;
      return base::monotonic_now() - each.since > settings_.idle_max || !each.line->is_quiet();
    };
    if (!is_over()) return false;
    const std::lock_guard lock(mutex_);
    forget(*each.line);
    return true;
  });
}

template <class Line>
void Lines<Line>::give_back(Lease lease) {
  CHECK(lease.line != nullptr);
  const Instant now = base::monotonic_now();
  const std::lock_guard lock(mutex_);
  breaker_.succeeded();
  answered_at_ = std::max(answered_at_, now);
  if (lease.is_shared) return;
  end_lease();
  const bool is_first_old = !idle_.empty() && now - idle_.front().since > settings_.idle_max;
  if (is_first_old || idle_.size() == kIdleConnectionsMax) {
    forget(*idle_.front().line);
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(lease.line), now});
}

template <class Line>
void Lines<Line>::drop(const Lease& lease, bool is_silent) {
  CHECK(lease.line != nullptr);
  lease.line->retire();
  const std::lock_guard lock(mutex_);
  if (!lease.is_shared) {
    end_lease();
    forget(*lease.line);
  }
  const bool is_away = is_silent && answered_at_ < lease.since;
  if (!is_away && lease.admission != Breaker::Admission::kTrial) return;
  fail(lease.admission, Line::unavailable(settings_.server + " does not answer; it is tried again in a moment"));
}

template <class Line>
auto Lines<Line>::open(const net::Deadline& deadline) -> Outcome<std::shared_ptr<Line>> {
  auto line = TRY(settings_.open(deadline));
  const std::lock_guard lock(mutex_);
  ++connections_[line->address()];
  if (lost_ > 0) {
    --lost_;
    ++reconnects_;
  }
  return line;
}

template <class Line>
std::size_t Lines<Line>::count() const {
  std::size_t all = 0;
  for (const auto& [address, some] : connections_) all += some;
  return all;
}

template <class Line>
void Lines<Line>::end_lease() {
  CHECK(leased_ > 0);
  --leased_;
  room_.notify_one();
}

template <class Line>
void Lines<Line>::forget(const Line& line) {
  ++lost_;
  const auto found = connections_.find(line.address());
  CHECK(found != connections_.end());
  if (--found->second == 0) connections_.erase(found);
  settings_.on_loss();
}

template <class Line>
void Lines<Line>::fail(Breaker::Admission admission, Failure reason) {
  last_failure_ = std::move(reason);
  breaker_.failed(admission, base::monotonic_now(), base::random_number());
  for (const Idle& each : idle_) forget(*each.line);
  idle_.clear();
  failures_.fetch_add(1, std::memory_order_relaxed);
  room_.notify_all();  // nobody waits for a server that is away
  settings_.on_loss();
}

}  // namespace mete::store
