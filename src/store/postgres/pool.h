// Pool: the connections to one PostgreSQL, so many at most, opened when they are needed (store/network/lines.h).
//
//     auto lease = pool.lease(deadline);
//     if (!lease) return …;
//     auto rows = lease->run(kTake, parameters, deadline);
//
// Calls of fibers have a connection to themselves as long as there are enough, and then share them. A plain thread that
// finds all of them in use waits for one, until its deadline. A connection comes back when its lease ends; one that is
// lost is dropped, and so is one that was given back in the middle of a transaction.
//
// Thread safety: every call from any thread. It outlives its leases.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "net/deadline.h"
#include "store/network/lines.h"
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

    SqlResult<Rows> run(const Statement& statement, const Parameters& parameters, const net::Deadline& deadline);
    // For all else: on a plain thread alone, where no other call has the connection.
    [[nodiscard]] Connection& connection() const { return *lease_.line; }

   private:
    friend class Pool;
    Lease(Pool& pool, Lines<Connection>::Lease lease) : pool_(pool), lease_(std::move(lease)) {}

    Pool& pool_;
    Lines<Connection>::Lease lease_;  // without a line: it was moved on
    bool is_lost_ = false;
  };

  // A connection that nobody has used for `idle_max` is closed, when one is leased or comes back.
  explicit Pool(Url url, Duration idle_max = kIdleMax);

  // The error is always one of a lost connection.
  SqlResult<Lease> lease(const net::Deadline& deadline);

  [[nodiscard]] const Url& url() const { return url_; }
  [[nodiscard]] RemoteStatus status() const;
  // What an answer takes that needs no work, as measured when the last connection was made.
  [[nodiscard]] Duration distance() const { return Duration::from_ns(distance_ns_.load(std::memory_order_relaxed)); }

 private:
  SqlResult<std::shared_ptr<Connection>> open(const net::Deadline& deadline);
  void give_back(Lease& lease);

  const Url url_;
  Lines<Connection> lines_;
  std::atomic<std::int64_t> distance_ns_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
};

}  // namespace mete::store::postgres
