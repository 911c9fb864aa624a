// The state of a counter as bytes: what nodes send each other. docs/formats/peer.md has the format.
//
// Thread safety: functions of their arguments.
#pragma once

#include <mete/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/change_codec.h"
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

void encode_state(Encoder& encoder, std::string_view key, const Counter& counter);
// The states of the bytes, to their end. An error says what is wrong with which one.
Result<std::vector<CounterState>> decode_states(std::string_view bytes);

}  // namespace mete::escrow
