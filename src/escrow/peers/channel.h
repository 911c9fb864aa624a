// Channel: one end of a link between two nodes, from the first byte on: hellos, proofs, and then frames that are sealed
// if the nodes have a secret. Bytes in, bytes out, no I/O.
//
//     connector                        acceptor
//     hello                      ──→
//                                ←──   hello
//     proof                      ──→                   with a secret: the acceptor proves nothing to strangers
//                                ←──   proof
//     state, ping                ──→
//                                ←──   ack
//
// Whatever is wrong ends the channel: the error says why, and a refusal that says so too is in the output.
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "escrow/counters/counter.h"
#include "escrow/peers/frame.h"
#include "escrow/peers/seal.h"

namespace mete::escrow {

// Roster: the latest incarnation of every node that has been met. A node that started anew has another one; whoever
// still speaks for an older one is a leftover, or a second node under the same name.
//
// Thread safety: every call from any thread.
class Roster {
 public:
  static constexpr std::size_t kNodesMax = 1024;

  // An error if a later incarnation of the node is known.
  [[nodiscard]] Result<void> check(const Writer& node) const;
  // Notes a node that has proved who it is.
  Result<void> note(const Writer& node);

 private:
  [[nodiscard]] Result<void> check_locked(const Writer& node) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> incarnations_;
};

// What all links of a node have in common. The roster outlives them.
struct Identity {
  Writer self;
  std::string secret;  // empty: none
  Roster& roster;
};

class Channel {
 public:
  // `expected`: the name of the node that must be at the other end; empty: any.
  Channel(Side side, const Identity& identity, std::string expected = {});

  // What the connector says first.
  void start(std::string& output);
  // The next frame that is not about opening the channel; none until more input has come. Takes what it has read off
  // the input. Valid for as long as the input.
  Result<std::optional<Frame>> read(std::string_view& input, std::string& output);
  // An open channel alone.
  void write(FrameType type, std::string_view body, std::string& output);
  // What somebody else found wrong with a frame: the refusal goes into the output.
  Error refuse(Error error, std::string& output);

  [[nodiscard]] bool is_open() const { return stage_ == Stage::kOpen; }
  // Who is at the other end, by its own word until the channel is open; empty before its hello.
  [[nodiscard]] const Writer& peer() const { return peer_; }

 private:
  enum class Stage : std::uint8_t { kHello, kProof, kOpen };

  Result<std::optional<Frame>> read_on(std::string_view& input, std::string& output);
  Result<void> advance(const Frame& frame, std::string& output);
  Result<void> take_hello(std::string_view body, std::string& output);
  [[nodiscard]] Result<void> check(const Hello& hello) const;
  Result<void> take_proof(std::string_view body, std::string& output);
  Result<void> open();
  // The frame without its seal.
  Result<Frame> unseal(const Frame& frame);
  void send_hello(std::string& output);
  void send_proof(std::string& output) const;
  [[nodiscard]] bool has_secret() const { return !identity_.secret.empty(); }

  const Side side_;
  const Identity& identity_;
  const std::string expected_;
  Stage stage_ = Stage::kHello;
  Writer peer_;
  Transcript transcript_;
  std::optional<Seal> seal_out_;
  std::optional<Seal> seal_in_;
  bool is_refused_ = false;  // by the other end, which needs no refusal
};

}  // namespace mete::escrow
