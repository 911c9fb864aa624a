// Listener: accepts connections on one address.
//
// Thread safety: on its loop's thread alone.
#pragma once

#include <mete/result.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/address.h"
#include "net/descriptor.h"
#include "net/event_loop.h"

namespace mete::net {

// A listening socket for each address that the name stands for. A Unix socket that a dead process has left is replaced.
Result<std::vector<Descriptor>> listen_on(const Address& address);
// The address that a socket is bound to: its port too, where the system chose one.
SocketAddress local_address(int socket);
SocketAddress peer_address(int socket);

class Listener final : public EventHandler {
 public:
  using Accept = std::function<void(Descriptor)>;
  using Report = std::function<void(const std::string& problem)>;

  // `accept` gets each new connection, not blocking; `report` is told when the system has none to give.
  Listener(EventLoop& loop, Descriptor socket, Accept accept, Report report);
  ~Listener() override;

  void on_events(std::uint32_t events) override;
  [[nodiscard]] SocketAddress address() const { return local_address(socket_.get()); }
  // The file of a Unix socket goes when the listener does. Not so with a socket that was handed over: whoever made it
  // will hand it over again.
  void own_path() { owns_path_ = true; }

 private:
  void shed();

  EventLoop& loop_;
  Descriptor socket_;
  Descriptor reserve_;  // given up for a moment when there are no descriptors left, to turn a client away
  Accept accept_;
  Report report_;
  bool owns_path_ = false;
};

}  // namespace mete::net
