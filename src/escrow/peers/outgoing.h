// Outgoing: the link to one peer: a thread that connects, brings what changes, and connects again when the link breaks.
//
// Ownership: borrows its parts; the destructor waits for the thread, half a second at most. Thread safety: every call
// from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "escrow/peers/links.h"
#include "escrow/peers/sender.h"
#include "net/address.h"
#include "net/client_socket.h"

namespace mete::escrow {

class Outgoing {
 public:
  // A link that breaks is back within a second after the network is: an attempt and a pause take less.
  static constexpr Duration kConnectWithin = std::chrono::milliseconds(500);
  static constexpr Duration kPauseMin = std::chrono::milliseconds(50);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(400);
  // What was sent must have arrived within the first of these, and all of it have been taken within the second.
  static constexpr Duration kArriveWithin = std::chrono::seconds(1);
  static constexpr Duration kTakeWithin = std::chrono::seconds(5);
  // How often an open link looks for changes.
  static constexpr Duration kLookEvery = std::chrono::milliseconds(20);

  struct Parts {
    const Identity& identity;
    Counters& counters;
    const Clock& clock;
    base::Log* log;             // may be null
    const net::TlsClient* tls;  // null: none
  };

  // The address is valid.
  Outgoing(const Parts& parts, PeerAddress peer);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  ~Outgoing();

  // Does not wait.
  void stop_soon();
  [[nodiscard]] const PeerAddress& peer() const { return peer_; }
  [[nodiscard]] PeerStatus status() const;

 private:
  void run();
  // Until the link breaks, which is an error, or until it is to stop.
  Result<void> talk();
  // -1: none any more.
  void use_socket(int socket);
  Result<void> serve(net::ClientSocket& socket, Sender& sender);
  // Reads if there is something to read within kLookEvery.
  Result<void> read(net::ClientSocket& socket, Sender& sender);
  Result<void> flush(net::ClientSocket& socket, Sender& sender);
  void note_open();
  void note_error(const Error& error);
  // False if it is to stop.
  bool pause(Duration length);
  [[nodiscard]] bool is_stopping() const;
  [[nodiscard]] LinkTime time() const;

  const Parts parts_;
  const PeerAddress peer_;
  const net::Address address_;
  Progress progress_;  // the thread's
  std::string input_;  // the thread's

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  int socket_ = -1;  // of the present link, to cut off what waits for it
  PeerStatus status_;
  Progress noted_;  // of the last acknowledgement
  std::thread thread_;
};

}  // namespace mete::escrow
