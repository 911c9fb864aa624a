#include "escrow/peers/incoming.h"
#include "base/try.h"

#include <utility>

namespace mete::escrow {

namespace {

// A link as the event loop sees it.
class IncomingSession final : public net::Session {
 public:
  IncomingSession(const Incoming::Parts& parts, std::string address)
      : parts_(parts), address_(std::move(address)), receiver_(parts.identity, parts.counters) {}

  Received receive(std::string_view input, base::Output& output, std::size_t /*output_max*/) override {
    std::string_view rest = input;
    std::string answers;
    const auto received = receiver_.receive(rest, answers, parts_.clock.now());
    output.append(answers);
    if (received) return {.consumed = input.size() - rest.size(), .next = Next::kRead};
    if (parts_.log != nullptr) {
      parts_.log->warning(
          "peer refused",
          {{"peer", receiver_.peer().node}, {"address", address_}, {"reason", received.error().message}});
    }
    return {.consumed = input.size(), .next = Next::kClose};
  }

 private:
  const Incoming::Parts& parts_;
  const std::string address_;
  Receiver receiver_;
};

}  // namespace

Incoming::Incoming(const Parts& parts, std::shared_ptr<net::TlsContext> tls)
    : parts_(parts), tls_(std::move(tls)), connections_(loop_) {
  protocol_.limits.input_max = kFrameHeaderBytes + kFrameBodyBytesMax;
  protocol_.limits.idle_max = kSilenceMax;
  protocol_.limits.request_max = kFrameWithin;
  protocol_.make_session = [this](net::ConnectionSet&, std::uint64_t, int socket) {
    return std::make_unique<IncomingSession>(parts_, net::peer_address(socket).to_string());
  };
  if (tls_ != nullptr) protocol_.make_transport = [this](int socket) { return tls_->make_transport(socket); };
}

Result<std::unique_ptr<Incoming>> Incoming::start(const Parts& parts, const net::Address& address,
                                                  std::shared_ptr<net::TlsContext> tls) {
  auto sockets = TRY(net::listen_on(address));
  std::unique_ptr<Incoming> incoming(new Incoming(parts, std::move(tls)));
  for (net::Descriptor& socket : sockets) incoming->listen(std::move(socket));
  incoming->address_ = incoming->listeners_.front()->address().to_string();
  incoming->sweep();
  incoming->thread_ = std::thread([&loop = incoming->loop_] { loop.run(); });
  return incoming;
}

Incoming::~Incoming() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  listeners_.clear();
  connections_.clear();
}

void Incoming::listen(net::Descriptor socket) {
  const auto report = [this](const std::string& problem) {
    if (parts_.log != nullptr) parts_.log->error("cannot accept peers", {{"reason", problem}});
  };
  listeners_.push_back(std::make_unique<net::Listener>(
      loop_, std::move(socket), [this](net::Descriptor peer) { accept(std::move(peer)); }, report));
  listeners_.back()->own_path();
}

void Incoming::accept(net::Descriptor socket) {
  if (connections_.size() >= kLinksMax) {
    if (parts_.log != nullptr) parts_.log->warning("peer refused", {{"reason", "too many links"}});
    return;
  }
  connections_.add(std::move(socket), ++last_id_, protocol_);
}

void Incoming::sweep() {
  parts_.counters.sweep(parts_.clock.now());
  loop_.after(kSweepEvery, [this] { sweep(); });
}

}  // namespace mete::escrow
