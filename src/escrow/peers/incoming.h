// Incoming: the links that peers make to this node, all on one thread with an event loop; and the sweep of the
// counters, on the same.
//
// Ownership: borrows its parts; the destructor stops the thread and closes everything. Thread safety: address() from
// any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "escrow/peers/receiver.h"
#include "net/address.h"
#include "net/connection_set.h"
#include "net/event_loop.h"
#include "net/listener.h"
#include "net/tls.h"

namespace mete::escrow {

class Incoming {
 public:
  static constexpr std::size_t kLinksMax = 256;
  // Peers ping several times in a second: one that is silent for so long has gone.
  static constexpr Duration kSilenceMax = std::chrono::seconds(5);
  static constexpr Duration kFrameWithin = std::chrono::seconds(10);
  static constexpr Duration kSweepEvery = std::chrono::milliseconds(100);

  struct Parts {
    const Identity& identity;
    Counters& counters;
    const Clock& clock;
    base::Log* log;  // may be null
  };

  // `tls` null: none.
  static Result<std::unique_ptr<Incoming>> start(const Parts& parts, const net::Address& address,
                                                 std::shared_ptr<net::TlsContext> tls);
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  ~Incoming();

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  Incoming(const Parts& parts, std::shared_ptr<net::TlsContext> tls);
  void listen(net::Descriptor socket);
  void accept(net::Descriptor socket);
  void sweep();

  const Parts parts_;
  const std::shared_ptr<net::TlsContext> tls_;
  std::string address_;
  net::EventLoop loop_;
  net::Protocol protocol_;
  net::ConnectionSet connections_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  std::uint64_t last_id_ = 0;
  std::thread thread_;
};

}  // namespace mete::escrow
