// Peers: the other nodes as they are reached, at their RESP listeners, and how they let this one in.
//
//     auto connection = login.connect(peer.address, credentials, deadline);   // one PeerLogin for each of them
//
// Ownership: a connection keeps what it was opened with. Thread safety: a PeerLogin is of one thread, and of many
// fibers on it.
#pragma once

#include <mete/result.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/tls/tls_client.h"
#include "store/network/resp_client.h"

namespace mete::escrow {

// Another node, as it is found.
struct PeerAddress {
  std::string name;
  std::string address;  // of its RESP listener

  bool operator==(const PeerAddress&) const = default;
};

struct PeerCredentials {
  std::vector<std::string> passwords = {};  // each allows everything at some or all of them; the newest first
  std::optional<net::TlsClient> tls = {};   // all nodes listen with TLS, or none does
};

struct PeerConnection {
  std::shared_ptr<const PeerCredentials> credentials;  // the client uses them
  store::RespClient client;
};

// Remembers which of the passwords a node knows.
class PeerLogin {
 public:
  // `credentials`: in effect now. Where one password is wrong, it shows the next.
  Result<PeerConnection> connect(const std::string& address, std::shared_ptr<const PeerCredentials> credentials,
                                 const net::Deadline& deadline);

 private:
  std::shared_ptr<const PeerCredentials> credentials_ = {};  // of the last attempt
  std::size_t password_ = 0;                                 // of these, the one that is tried first
};

}  // namespace mete::escrow
