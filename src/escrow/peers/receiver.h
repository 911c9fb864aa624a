// Receiver: merges the counters that a peer brings over one link. Bytes in, bytes out, no I/O; the time is an argument.
//
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <string>
#include <string_view>

#include "escrow/counters/counters.h"
#include "escrow/peers/channel.h"

namespace mete::escrow {

class Receiver {
 public:
  // Both outlive it.
  Receiver(const Identity& identity, Counters& counters) : channel_(Side::kAcceptor, identity), counters_(counters) {}

  // Takes what it has read off the input; answers are appended to the output. After an error, which the output tells
  // the peer, the link is to be closed.
  Result<void> receive(std::string_view& input, std::string& output, Instant now);

  [[nodiscard]] bool is_open() const { return channel_.is_open(); }
  // By its own word until the link is open; empty before its hello.
  [[nodiscard]] const Writer& peer() const { return channel_.peer(); }

 private:
  Result<void> take(const Frame& frame, std::string& output, Instant now);
  // All of the batch, or nothing.
  Result<void> merge(const Batch& batch, Instant now);

  Channel channel_;
  Counters& counters_;
};

}  // namespace mete::escrow
