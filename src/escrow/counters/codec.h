// The state of a counter as bytes: what nodes send each other (STORE MERGE),
// and keep on disk (counter_file.h). docs/formats/counters.md has the format.
//
// Thread safety: functions of their arguments.
#pragma once

#include <mete/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/records/change_codec.h"
#include "escrow/counters/counter.h"

namespace mete::escrow {

using engine::Decoder;
using engine::Encoder;

// Numbers of stamps stay below, so that there is always a next one.
inline constexpr std::uint64_t kStampNumberMax = std::uint64_t{1} << 63;
// A counter with more slots is told in several states, each with some of them: merging all is merging it.
inline constexpr std::size_t kSlotsPerState = 1024;

struct CounterState {
  std::string key;
  Counter counter;
  bool is_part = false;  // there are more slots, in other states

  bool operator==(const CounterState&) const = default;
};

void encode_writer(Encoder& encoder, const Writer& writer);
// The name may be longer than kNodeBytesMax: the caller refuses it.
Writer decode_writer(Decoder& decoder);

// States in pieces, each of which fits into a message, and is read by decode_states().
class StateWriter {
 public:
  // A piece that has so many bytes is complete. The largest state is half as long.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  void write(std::string_view key, const Counter& counter);
  [[nodiscard]] std::size_t bytes() const { return bytes_complete_ + encoder_.size(); }
  // Ends the last piece. None, if nothing was written.
  [[nodiscard]] std::vector<std::string> take() &&;

 private:
  void end_piece();

  Encoder encoder_;
  std::vector<std::string> pieces_;
  std::size_t bytes_complete_ = 0;
};

// The states of the bytes, to their end. An error says what is wrong with which one.
Result<std::vector<CounterState>> decode_states(std::string_view bytes);

}  // namespace mete::escrow
