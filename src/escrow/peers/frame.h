// Frames: the units of the protocol between nodes. docs/formats/peer.md has the bytes.
//
//     ┌─────────┬─────────┬──────┬──────────┬────────┬──────────────────────────────┐
//     │ magic   │ version │ type │ zero     │ length │ body, with its seal           │
//     │ "METP"  │ u8      │ u8   │ u16      │ u32    │ length bytes, 1 MiB at most   │
//     └─────────┴─────────┴──────┴──────────┴────────┴──────────────────────────────┘
//
// Thread safety: functions of their arguments.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "escrow/counters/counter.h"

namespace mete::escrow {

inline constexpr std::size_t kFrameHeaderBytes = 12;
inline constexpr std::size_t kFrameBodyBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kNonceBytes = 32;

enum class FrameType : std::uint8_t {
  kHello = 1,    // who this is, and a nonce that challenges the other
  kProof = 2,    // that it knows the secret
  kState = 3,    // a batch of counters
  kAck = 4,      // that all up to a number has been merged
  kPing = 5,     // asks for an ack
  kRefusal = 6,  // why the link is about to be closed
};

struct Frame {
  FrameType type = FrameType::kHello;
  std::string_view body;
  std::string_view bytes;  // all of it, with the header
};

// Appends the header; the body of that length is the caller's to append.
void append_header(std::string& to, FrameType type, std::size_t body_bytes);
// Takes a frame off the front of the input; none if it is not complete yet. What cannot become a frame any more is
// refused as soon as that is certain.
Result<std::optional<Frame>> take_frame(std::string_view& input);

struct Hello {
  Writer node;
  std::string nonce;        // kNonceBytes
  bool has_secret = false;  // frames are sealed, and proofs exchanged

  bool operator==(const Hello&) const = default;
};

struct Batch {
  std::uint64_t number = 0;
  std::string_view states;  // as decode_states() reads them
};

// Bodies. Those of kAck and kPing are a number.
std::string encode_hello(const Hello& hello);
Result<Hello> decode_hello(std::string_view body);
std::string encode_number(std::uint64_t number);
Result<std::uint64_t> decode_number(std::string_view body);
Result<Batch> decode_batch(std::string_view body);

}  // namespace mete::escrow
