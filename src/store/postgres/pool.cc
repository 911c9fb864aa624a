#include "store/postgres/pool.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/duration_text.h"
#include "base/random.h"

namespace mete::store::postgres {

namespace {

Instant now() { return Instant::from_ns(base::monotonic_ns()); }

// A server that is there says itself that a statement takes too long, before its caller takes it for away.
Duration statement_timeout_for(Duration timeout) { return Duration::from_ns(timeout.ns() / 10 * 9); }

}  // namespace

Pool::Lease::~Lease() {
  if (connection_) pool_.give_back(std::move(connection_), admission_);
}

SqlResult<Pool::Lease> Pool::lease(const net::Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (auto done = wait_for_room(lock, deadline); !done) return tl::unexpected(std::move(done.error()));
  Lease lease(*this, breaker_.admit(now()));
  if (lease.admission_ == Breaker::Admission::kRefused) {
    ++failures_;
    return tl::unexpected(last_failure_);
  }
  ++leased_;
  lease.connection_ = take_idle();
  if (lease.connection_) return lease;
  lock.unlock();
  auto connection = Connection::open(url_.libpq, deadline, statement_timeout_for(url_.timeout));
  lock.lock();
  if (!connection) {
    --leased_;
    room_.notify_one();
    fail(lease.admission_, connection.error());
    return tl::unexpected(std::move(connection.error()));
  }
  ++addresses_[connection->address()];
  if (lost_ > 0) {
    --lost_;
    ++reconnects_;
  }
  lease.connection_ = std::make_unique<Connection>(std::move(*connection));
  return lease;
}

SqlResult<Done> Pool::wait_for_room(std::unique_lock<std::mutex>& lock, const net::Deadline& deadline) {
  const auto has_room = [this] { return leased_ < url_.pool; };
  const auto is_decided = [&] { return has_room() || breaker_.is_open(); };
  const Duration left = deadline.left();
  if (left.is_never()) {
    room_.wait(lock, is_decided);
  } else {
    room_.wait_for(lock, std::chrono::nanoseconds(left.ns()), is_decided);
  }
  if (has_room()) return Done{};
  ++failures_;
  if (breaker_.is_open()) return tl::unexpected(last_failure_);
  return tl::unexpected(lost("all " + std::to_string(url_.pool) + " connections to PostgreSQL were in use for " +
                             base::duration_text(deadline.timeout()) + "; more are allowed by pool=… in its URL"));
}

std::unique_ptr<Connection> Pool::take_idle() {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (now() - last.since <= kIdleMax && last.connection->is_quiet()) return std::move(last.connection);
    forget(*last.connection);
  }
  return nullptr;
}

void Pool::give_back(std::unique_ptr<Connection> connection, Breaker::Admission admission) {
  const std::lock_guard lock(mutex_);
  CHECK(leased_ > 0);
  --leased_;
  room_.notify_one();
  if (connection->is_idle()) {
    breaker_.succeeded();
    idle_.push_back({std::move(connection), now()});
    return;
  }
  forget(*connection);
  if (!connection->is_lost()) {
    breaker_.succeeded();
    return;
  }
  if (connection->is_silent() || admission == Breaker::Admission::kTrial) {
    fail(admission, lost(connection->address() + " does not answer; it is tried again in a moment"));
  } else {
    ++failures_;
  }
}

void Pool::fail(Breaker::Admission admission, SqlError reason) {
  ++failures_;
  last_failure_ = std::move(reason);
  breaker_.failed(admission, now(), base::random_number());
  room_.notify_all();  // nobody waits for a server that is away
  for (const Idle& each : idle_) forget(*each.connection);
  idle_.clear();
}

void Pool::forget(const Connection& connection) {
  ++lost_;
  const auto found = addresses_.find(connection.address());
  CHECK(found != addresses_.end());
  if (--found->second == 0) addresses_.erase(found);
}

RemoteStatus Pool::status() const {
  const std::lock_guard lock(mutex_);
  RemoteStatus status = {.shape = "postgres",
                         .nodes = {},
                         .reconnects = reconnects_,
                         .failures = failures_,
                         .is_reachable = !breaker_.is_open()};
  for (const auto& [address, count] : addresses_) {
    status.nodes.push_back(address);
    status.connections += count;
  }
  return status;
}

}  // namespace mete::store::postgres
