#include "escrow/peers/links.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "escrow/peers/incoming.h"
#include "escrow/peers/outgoing.h"
#include "net/address.h"
#include "net/tls.h"

namespace mete::escrow {

namespace {

constexpr net::TlsClientNames kTlsNames = {
    .kind = "setting", .ca = "tls.client_ca", .certificate = "tls.cert", .key = "tls.key"};

Result<void> check(const PeerOptions& options, const Writer& self) {
  if (self.node.empty() || self.node.size() > kNodeBytesMax) {
    return base::invalid("the name of a node has 1 to " + std::to_string(kNodeBytesMax) + " bytes");
  }
  if (!options.secret.empty() && options.secret.size() < kSecretBytesMin) {
    return base::invalid("the secret of peers is too short: it has " + std::to_string(kSecretBytesMin) +
                         " bytes at least; openssl rand -hex 32 makes a good one");
  }
  const PeerTls& tls = options.tls;
  if (tls.certificate.empty() != tls.key.empty() || tls.certificate.empty() != tls.authority.empty()) {
    return base::invalid(
        "TLS between peers takes a certificate, its key and the authority that signed those of all nodes");
  }
  return {};
}

std::string exposed(const std::string& address) {
  return "refusing to link peers over " + address +
         ": other machines can reach it, and there is neither a secret nor a certificate by which nodes know each "
         "other";
}

}  // namespace

PeerLinks::PeerLinks(const PeerOptions& options, Counters& counters)
    : counters_(counters),
      clock_(*options.clock),
      log_(options.log),
      identity_{.self = counters.self(), .secret = options.secret, .roster = roster_} {}

PeerLinks::~PeerLinks() {
  for (const auto& link : outgoing_) link->stop_soon();
}

Result<std::unique_ptr<PeerLinks>> PeerLinks::start(const PeerOptions& options, Counters& counters) {
  CHECK(options.clock != nullptr);
  TRY(check(options, counters.self()));
  const auto address = TRY(net::parse_address(options.listen));
  std::unique_ptr<PeerLinks> links(new PeerLinks(options, counters));
  std::shared_ptr<net::TlsContext> context;
  if (options.tls.is_on()) {
    const PeerTls& tls = options.tls;
    context = TRY(
        net::TlsContext::load({.certificate = tls.certificate, .key = tls.key, .client_authorities = tls.authority}));
    auto client =
        TRY(net::TlsClient::load({.ca = tls.authority, .certificate = tls.certificate, .key = tls.key}, kTlsNames));
    links->tls_client_.emplace(std::move(client));
  }
  if (!links->knows_its_peers() && !address.is_local()) return base::invalid(exposed(options.listen));
  links->incoming_ = TRY(Incoming::start({links->identity_, counters, links->clock_, links->log_}, address, context));
  return links;
}

Result<void> PeerLinks::check_peers(const std::vector<PeerAddress>& peers) const {
  if (peers.size() > kPeersMax) return base::invalid("a node has " + std::to_string(kPeersMax) + " peers at most");
  std::set<std::string> names;
  for (const PeerAddress& peer : peers) {
    const auto address = TRY(net::parse_address(peer.address));
    if (peer.name.size() > kNodeBytesMax) {
      return base::invalid("the name of the peer at " + peer.address + " has more than " +
                           std::to_string(kNodeBytesMax) + " bytes");
    }
    if (peer.name == identity_.self.node)
      return base::invalid("'" + peer.name + "' is this node itself, and no peer of it");
    const bool is_new = names.insert(peer.name.empty() ? peer.address : peer.name).second;
    if (!is_new) return base::invalid("two peers are called '" + (peer.name.empty() ? peer.address : peer.name) + "'");
    if (!knows_its_peers() && !address.is_local()) return base::invalid(exposed(peer.address));
  }
  return {};
}

std::unique_ptr<Outgoing> PeerLinks::connect(const PeerAddress& peer) {
  const net::TlsClient* const tls = tls_client_ ? &*tls_client_ : nullptr;
  return std::make_unique<Outgoing>(Outgoing::Parts{identity_, counters_, clock_, log_, tls}, peer);
}

Result<void> PeerLinks::set_peers(const std::vector<PeerAddress>& peers) {
  TRY(check_peers(peers));
  std::vector<std::unique_ptr<Outgoing>> left;  // ended with no lock held: that may take a moment
  {
    const std::lock_guard lock(mutex_);
    left = std::move(outgoing_);
    outgoing_.clear();
    for (const PeerAddress& peer : peers) {
      const auto same = std::find_if(left.begin(), left.end(),
                                     [&](const auto& link) { return link != nullptr && link->peer() == peer; });
      outgoing_.push_back(same == left.end() ? connect(peer) : std::move(*same));
    }
  }
  for (const auto& link : left) {
    if (link != nullptr) link->stop_soon();
  }
  return {};
}

std::vector<PeerStatus> PeerLinks::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<PeerStatus> all;
  all.reserve(outgoing_.size());
  for (const auto& link : outgoing_) all.push_back(link->status());
  return all;
}

std::string PeerLinks::address() const { return incoming_->address(); }

}  // namespace mete::escrow
