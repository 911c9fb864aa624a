// Endpoint: one member of an etcd cluster, with the connections to it that nobody uses at the moment, and its breaker.
//
// A call borrows a connection, and gives it back when it has its reply, or drops it. The connection given back last is
// borrowed first, so that those beyond need grow old and go. Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "net/deadline.h"
#include "store/breaker.h"
#include "store/etcd/grpc_connection.h"

namespace mete::store::etcd {

class Endpoint {
 public:
  static constexpr std::size_t kIdleConnectionsMax = 64;
  static constexpr Duration kIdleMax = std::chrono::minutes(1);

  // A connection for the time of a call.
  struct Lease {
    std::unique_ptr<GrpcConnection> connection;
    Breaker::Admission admission = Breaker::Admission::kRefused;
  };

  // `tls`: null without; outlives the endpoint.
  Endpoint(net::Address address, const net::TlsClient* tls) : address_(std::move(address)), tls_(tls) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() = default;

  // A connection that was idle, or a new one. While the breaker is open: kUnavailable, at once.
  Result<Lease> borrow(const net::Deadline& deadline);
  void give_back(Lease lease);
  // `is_away`: the member did not answer in time.
  void drop(Lease lease, bool is_away);

  [[nodiscard]] const net::Address& address() const { return address_; }

  struct Status {
    bool is_away = false;
    std::size_t connections = 0;
    std::uint64_t reconnects = 0;
  };
  [[nodiscard]] Status status() const;

 private:
  struct Idle {
    std::unique_ptr<GrpcConnection> connection;
    Instant since;
  };

  // The next one that is still good, or null.
  [[nodiscard]] std::unique_ptr<GrpcConnection> take_idle();
  // With mutex_ locked.
  void fail(Breaker::Admission admission, Error reason);

  const net::Address address_;
  const net::TlsClient* const tls_;
  mutable std::mutex mutex_;
  Breaker breaker_;              // under mutex_, as all below
  std::vector<Idle> idle_;       // the last was used last
  std::size_t connections_ = 0;  // open, in use or not
  std::uint64_t lost_ = 0;       // connections that nothing has replaced yet
  std::uint64_t reconnects_ = 0;
  Error last_failure_ = {};  // why the breaker is open
};

}  // namespace mete::store::etcd
