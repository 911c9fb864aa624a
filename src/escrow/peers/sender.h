// Sender: brings this node's counters to one peer, over one link after the other. Bytes in, bytes out, no I/O; the time
// is an argument.
//
// Batches are numbered, and so are pings; an ack of a number says that all up to it has been merged. What the peer has
// acknowledged is kept in Progress, over all links to it: the next one goes on from there. A peer that started anew has
// forgotten everything, and gets everything. So does one that was away for longer than counters which have gone are
// remembered: what one of the two has forgotten is no change any more, and the other may still have it.
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "escrow/counters/counters.h"
#include "escrow/peers/channel.h"

namespace mete::escrow {

// What a peer is known to have.
struct Progress {
  Writer peer;
  Counters::Cursor acknowledged;
  Instant heard_at;  // LinkTime::steady
};

struct LinkTime {
  Instant steady;  // of a clock that never stops or steps: for how long things take
  Instant now;     // that of the counters
};

class Sender {
 public:
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;
  static constexpr std::size_t kInFlightMax = 4;
  // A counter that is busy is sent so often and no more; a long list of changes goes without pauses.
  static constexpr Duration kBatchEvery = std::chrono::milliseconds(10);
  // An idle link is tried so often; one that owes an answer for so long is dead.
  static constexpr Duration kPingEvery = std::chrono::milliseconds(250);
  static constexpr Duration kAnswerWithin = std::chrono::seconds(1);

  // The three outlive it.
  Sender(const Identity& identity, std::string peer_name, Counters& counters, Progress& progress, const LinkTime& time);

  // Takes what it has read off the input.
  Result<void> receive(std::string_view& input, const LinkTime& time);
  // Puts what is to be sent now into the output. An error if the peer does not answer.
  Result<void> advance(const LinkTime& time);
  // What is to be sent; the caller takes it away.
  [[nodiscard]] std::string& output() { return output_; }

  [[nodiscard]] bool is_open() const { return channel_.is_open(); }

 private:
  struct InFlight {
    std::uint64_t number = 0;
    std::optional<Counters::Cursor> cursor;  // what the peer has seen then; none of a ping or of a part of a batch
    Instant sent;
  };

  void begin(Instant steady);
  // False if there is nothing to send, or nothing yet.
  bool send_changes(const LinkTime& time);
  void send(FrameType type, std::string_view rest, std::optional<Counters::Cursor> cursor, Instant steady);
  Result<void> acknowledge(std::uint64_t number, Instant steady);

  Channel channel_;
  Counters& counters_;
  Progress& progress_;
  std::string output_;
  bool has_begun_ = false;
  Counters::Cursor sent_;
  std::uint64_t last_number_ = 0;
  std::deque<InFlight> in_flight_;
  Instant heard_at_;
  Instant last_sent_;
  Instant next_batch_;
};

}  // namespace mete::escrow
