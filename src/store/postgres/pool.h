// Pool: the connections to one PostgreSQL, so many at most, opened when they are needed.
//
//     auto lease = pool.lease(deadline);
//     if (!lease) return …;
//     auto rows = (*lease)->run(kTake, parameters, deadline);
//
// Whoever finds all of them in use waits for one, until its deadline. A connection comes back when its lease ends; one
// that is lost is dropped, and so is one that was given back in the middle of a transaction. The connection given back
// last is leased first, so that those beyond need grow old and go. One that the server has closed meanwhile, by a
// restart or a failover, is seen before it is leased.
//
// While the server is away one caller at a time tries it, after pauses (store/breaker.h); the others fail at once.
//
// Thread safety: every call from any thread. It outlives its leases.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/deadline.h"
#include "net/signal.h"
#include "store/breaker.h"
#include "store/postgres/connection.h"
#include "store/postgres/url.h"
#include "store/remote.h"

namespace mete::store::postgres {

class Pool {
 public:
  static constexpr Duration kIdleMax = std::chrono::minutes(1);

  // A connection for the time of a call or of a transaction.
  class Lease {
   public:
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();

    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    friend class Pool;
    Lease(Pool& pool, Breaker::Admission admission) : pool_(pool), admission_(admission) {}

    Pool& pool_;
    std::unique_ptr<Connection> connection_;  // null: it was moved on
    Breaker::Admission admission_;
    Instant since_;
  };

  // A connection that nobody has used for `idle_max` is closed, when one is leased or comes back.
  explicit Pool(Url url, Duration idle_max = kIdleMax) : url_(std::move(url)), idle_max_(idle_max) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() = default;

  // The error is always one of a lost connection.
  SqlResult<Lease> lease(const net::Deadline& deadline);

  [[nodiscard]] const Url& url() const { return url_; }
  [[nodiscard]] RemoteStatus status() const;

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    Instant since;
  };

  // With mutex_ locked, the next five.
  SqlResult<void> wait_for_room(std::unique_lock<std::mutex>& lock, const net::Deadline& deadline);
  [[nodiscard]] std::unique_ptr<Connection> take_idle();
  void keep(std::unique_ptr<Connection> connection);
  void fail(Breaker::Admission admission, SqlError reason);
  void forget(const Connection& connection);

  void give_back(Lease& lease);

  const Url url_;
  const Duration idle_max_;
  mutable std::mutex mutex_;
  net::Signal room_;                              // a lease has ended, or the breaker opened
  Breaker breaker_;                               // under mutex_, as all below
  std::size_t leased_ = 0;                        // or being opened
  std::vector<Idle> idle_;                        // the last was used last
  std::map<std::string, std::size_t> addresses_;  // of the open connections, and how many each has
  std::uint64_t lost_ = 0;                        // connections that nothing has replaced yet
  std::uint64_t reconnects_ = 0;
  std::uint64_t failures_ = 0;
  SqlError last_failure_ = {};  // why the breaker is open
};

}  // namespace mete::store::postgres
