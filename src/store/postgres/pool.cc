#include "store/postgres/pool.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/try.h"

namespace mete::store::postgres {

namespace {

// A server that is there says itself that a statement takes too long, before its caller takes it for away.
Duration statement_timeout_for(Duration timeout) { return Duration::from_ns(timeout.ns() / 10 * 9); }

}  // namespace

Pool::Lease::~Lease() {
  if (connection_) pool_.give_back(*this);
}

SqlResult<Pool::Lease> Pool::lease(const net::Deadline& deadline) {
  std::unique_lock lock(mutex_);
  TRY(wait_for_room(lock, deadline));
  Lease lease(*this, breaker_.admit(base::monotonic_now()));
  if (lease.admission_ == Breaker::Admission::kRefused) {
    ++failures_;
    return last_failure_;
  }
  ++leased_;
  lease.since_ = base::monotonic_now();
  lease.connection_ = take_idle();
  if (lease.connection_) return lease;
  lock.unlock();
  auto connection = Connection::open(url_.libpq, deadline, statement_timeout_for(url_.timeout));
  lock.lock();
  if (!connection) {
    --leased_;
    room_.notify_one();
    // A server that has others of this pool is there, and gives no more.
    if (addresses_.empty() || lease.admission_ == Breaker::Admission::kTrial) {
      fail(lease.admission_, connection.error());
    } else {
      ++failures_;
    }
    return std::move(connection).error();
  }
  ++addresses_[connection->address()];
  if (lost_ > 0) {
    --lost_;
    ++reconnects_;
  }
  lease.connection_ = std::make_unique<Connection>(std::move(*connection));
  return lease;
}

SqlResult<void> Pool::wait_for_room(std::unique_lock<std::mutex>& lock, const net::Deadline& deadline) {
  const auto has_room = [this] { return leased_ < url_.pool; };
  room_.wait(lock, deadline, [&] { return has_room() || breaker_.is_open(); });
  if (has_room()) return {};
  ++failures_;
  if (breaker_.is_open()) return last_failure_;
  return lost("all " + std::to_string(url_.pool) + " connections to PostgreSQL were in use for " +
              base::duration_text(deadline.timeout()) + "; more are allowed by pool=… in its URL");
}

std::unique_ptr<Connection> Pool::take_idle() {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (base::monotonic_now() - last.since <= idle_max_ && last.connection->is_quiet())
      return std::move(last.connection);
    forget(*last.connection);
  }
  return nullptr;
}

void Pool::give_back(Lease& lease) {
  std::unique_ptr<Connection> connection = std::move(lease.connection_);
  const std::lock_guard lock(mutex_);
  CHECK(leased_ > 0);
  --leased_;
  room_.notify_one();
  if (connection->is_idle()) return keep(std::move(connection));
  forget(*connection);
  if (!connection->is_lost()) return breaker_.succeeded();
  // Whoever came to the connection late, with little time left, cannot tell a slow server from one that is away.
  const bool is_away =
      connection->is_silent() && base::monotonic_now() - lease.since_ >= statement_timeout_for(url_.timeout);
  if (is_away || lease.admission_ == Breaker::Admission::kTrial) {
    fail(lease.admission_, lost(connection->address() + " does not answer; it is tried again in a moment"));
  } else {
    ++failures_;
  }
}

void Pool::keep(std::unique_ptr<Connection> connection) {
  breaker_.succeeded();
  if (!idle_.empty() && base::monotonic_now() - idle_.front().since > idle_max_) {
    forget(*idle_.front().connection);
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(connection), base::monotonic_now()});
}

void Pool::fail(Breaker::Admission admission, SqlError reason) {
  ++failures_;
  last_failure_ = std::move(reason);
  breaker_.failed(admission, base::monotonic_now(), base::random_number());
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
                         .connections_max = url_.pool,
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
