#include "store/etcd/endpoint.h"

#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/monotonic.h"
#include "base/random.h"

namespace mete::store::etcd {

namespace {}  // namespace

Result<Endpoint::Lease> Endpoint::borrow(const net::Deadline& deadline) {
  Lease lease;
  {
    const std::lock_guard lock(mutex_);
    lease.admission = breaker_.admit(base::monotonic_now());
    if (lease.admission == Breaker::Admission::kRefused) return last_failure_;
  }
  lease.connection = take_idle();
  if (lease.connection) return lease;
  auto connection = GrpcConnection::open(address_, tls_, deadline);
  const std::lock_guard lock(mutex_);
  if (!connection) {
    fail(lease.admission, connection.error());
    return connection.error();
  }
  ++connections_;
  if (lost_ > 0) {
    --lost_;
    ++reconnects_;
  }
  lease.connection = std::move(*connection);
  return lease;
}

std::unique_ptr<GrpcConnection> Endpoint::take_idle() {
  std::unique_lock lock(mutex_);
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    // Those that a restart of the server has closed are seen here, before anything is sent.
    if (base::monotonic_now() - last.since <= kIdleMax && last.connection->is_usable())
      return std::move(last.connection);
    lock.lock();
    --connections_;
    ++lost_;
  }
  return nullptr;
}

void Endpoint::give_back(Lease lease) {
  CHECK(lease.connection != nullptr);
  const std::lock_guard lock(mutex_);
  breaker_.succeeded();
  if (idle_.size() == kIdleConnectionsMax) {
    --connections_;
    return;
  }
  idle_.push_back({std::move(lease.connection), base::monotonic_now()});
}

void Endpoint::drop(Lease lease, bool is_away) {
  CHECK(lease.connection != nullptr);
  const std::lock_guard lock(mutex_);
  --connections_;
  ++lost_;
  if (!is_away && lease.admission != Breaker::Admission::kTrial) return;
  fail(lease.admission,
       base::unavailable("etcd at " + address_.to_string() + " does not answer; it is tried again in a moment"));
}

void Endpoint::fail(Breaker::Admission admission, Error reason) {
  last_failure_ = std::move(reason);
  breaker_.failed(admission, base::monotonic_now(), base::random_number());
  connections_ -= idle_.size();
  lost_ += idle_.size();
  idle_.clear();
}

Endpoint::Status Endpoint::status() const {
  const std::lock_guard lock(mutex_);
  return {.is_away = breaker_.is_open(), .connections = connections_, .reconnects = reconnects_};
}

}  // namespace mete::store::etcd
