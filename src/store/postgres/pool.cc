#include "store/postgres/pool.h"

#include <utility>

#include "base/monotonic.h"
#include "base/try.h"

namespace mete::store::postgres {

namespace {

// A server that is there says itself that a statement takes too long, before its caller takes it for away. The last
// quarter of the time is for that message, because a machine that is short of time may need some of it.
Duration statement_timeout_for(Duration timeout) { return Duration::from_ns(timeout.ns() / 4 * 3); }

}  // namespace

Pool::Pool(Url url, Duration idle_max)
    : url_(std::move(url)),
      lines_({.server = "PostgreSQL",
              .open = [this](const net::Deadline& deadline) { return open(deadline); },
              .connections_max = url_.pool,
              .shared_max = url_.pool,
              .calls_worth_another = 1,
              .others_vouch = true,
              .idle_max = idle_max}) {}

Pool::Lease::~Lease() {
  if (lease_.line) pool_.give_back(*this);
}

SqlResult<Rows> Pool::Lease::run(const Statement& statement, const Parameters& parameters,
                                 const net::Deadline& deadline) {
  auto rows = connection().run(statement, parameters, deadline);
  is_lost_ = !rows && rows.error().is_lost;
  return rows;
}

SqlResult<Pool::Lease> Pool::lease(const net::Deadline& deadline) {
  auto lease = lines_.borrow(deadline);
  if (lease) return Lease(*this, std::move(*lease));
  failures_.fetch_add(1, std::memory_order_relaxed);
  return lease.error();
}

SqlResult<std::shared_ptr<Connection>> Pool::open(const net::Deadline& deadline) {
  auto connection = TRY(Connection::open(url_.libpq, deadline, statement_timeout_for(url_.timeout)));
  const auto distance = TRY(connection.measure_distance(deadline));
  distance_ns_.store(distance.ns(), std::memory_order_relaxed);
  return std::make_shared<Connection>(std::move(connection));
}

void Pool::give_back(Lease& lease) {
  const Connection& connection = lease.connection();
  const bool is_shared = lease.lease_.is_shared;
  const bool is_lost = lease.is_lost_ || (!is_shared && connection.is_lost());
  if (is_lost) failures_.fetch_add(1, std::memory_order_relaxed);
  if (!is_lost && (is_shared || connection.is_idle())) return lines_.give_back(std::move(lease.lease_));
  // Whoever came to the connection late, with little time left, cannot tell a slow server from one that is away.
  const Duration held = base::monotonic_now() - lease.lease_.since;
  lines_.drop(lease.lease_, is_lost && connection.is_silent() && held >= statement_timeout_for(url_.timeout));
}

RemoteStatus Pool::status() const {
  RemoteStatus status = {.shape = "postgres",
                         .nodes = lines_.addresses(),
                         .connections_max = url_.pool,
                         .failures = failures_.load(std::memory_order_relaxed),
                         .is_reachable = !lines_.is_away()};
  lines_.add_to(status);
  return status;
}

}  // namespace mete::store::postgres
