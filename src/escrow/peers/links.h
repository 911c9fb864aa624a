// PeerLinks: keeps the counters of this node and those of its peers the same. It connects to every peer of its list and
// brings it what changes here, and listens for peers that bring what changes there. So every node has all others in its
// list; a change also goes on by way of others where two nodes do not reach each other.
//
//     auto links = PeerLinks::start({.listen = "10.0.0.1:6390", .secret = secret, .clock = &clock}, counters).value();
//     links->set_peers({{"b", "10.0.0.2:6390"}, {"c", "10.0.0.3:6390"}}).value();
//
// Nodes know each other by a secret that they share, by certificates of one authority, or by both. With neither of them
// only addresses of this machine are allowed.
//
// Ownership: borrows the counters, the clock and the log; stops with its destructor, within a second. The process must
// ignore SIGPIPE if there are certificates. Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "escrow/counters/counters.h"
#include "escrow/peers/channel.h"
#include "net/tls_client.h"

namespace mete::escrow {

class Incoming;
class Outgoing;

// Files. None, or all three: both ends of a link show a certificate that the authority has signed.
struct PeerTls {
  std::string certificate = {};
  std::string key = {};
  std::string authority = {};

  [[nodiscard]] bool is_on() const { return !certificate.empty(); }
};

struct PeerOptions {
  std::string listen;       // "10.0.0.1:6390"; port 0: the system chooses
  std::string secret = {};  // kSecretBytesMin at least; empty: none
  PeerTls tls = {};
  const Clock* clock = nullptr;  // that of whoever uses the counters
  base::Log* log = nullptr;      // may be left out
};

struct PeerAddress {
  std::string name;
  std::string address;

  bool operator==(const PeerAddress&) const = default;
};

// The link to a peer.
struct PeerStatus {
  std::string name;
  std::string address;
  bool is_connected = false;
  std::optional<Instant> last_heard = {};
  std::size_t lag = 0;  // counters with changes that the peer has not acknowledged
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::string last_error = {};  // why there is no link; empty while there is one
};

class PeerLinks {
 public:
  static constexpr std::size_t kPeersMax = 64;

  static Result<std::unique_ptr<PeerLinks>> start(const PeerOptions& options, Counters& counters);
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;
  ~PeerLinks();

  // In place of those that were set before: links to peers that stay are not touched. An error changes nothing.
  Result<void> set_peers(const std::vector<PeerAddress>& peers);
  // In the order of the list.
  [[nodiscard]] std::vector<PeerStatus> status() const;
  // Where it listens: with the port, if the system chose it.
  [[nodiscard]] std::string address() const;

 private:
  PeerLinks(const PeerOptions& options, Counters& counters);
  [[nodiscard]] bool knows_its_peers() const { return !identity_.secret.empty() || tls_client_.has_value(); }
  [[nodiscard]] Result<void> check_peers(const std::vector<PeerAddress>& peers) const;
  [[nodiscard]] std::unique_ptr<Outgoing> connect(const PeerAddress& peer);

  Counters& counters_;
  const Clock& clock_;
  base::Log* const log_;
  Roster roster_;
  const Identity identity_;
  std::optional<net::TlsClient> tls_client_;
  std::unique_ptr<Incoming> incoming_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
};

}  // namespace mete::escrow
