#include "escrow/peers/receiver.h"

#include <utility>

namespace mete::escrow {

Result<void> Receiver::receive(std::string_view& input, std::string& output, Instant now) {
  for (;;) {
    const auto frame = channel_.read(input, output);
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame) return Done{};
    if (auto taken = take(**frame, output, now); !taken) {
      return tl::unexpected(channel_.refuse(std::move(taken.error()), output));
    }
  }
}

Result<void> Receiver::take(const Frame& frame, std::string& output, Instant now) {
  const bool is_ping = frame.type == FrameType::kPing;
  if (!is_ping && frame.type != FrameType::kState) {
    return tl::unexpected(Error{ErrorCode::kInvalid, "a frame came that only a receiver has"});
  }
  const auto batch = decode_batch(frame.body);
  if (!batch) return tl::unexpected(batch.error());
  if (is_ping && !batch->states.empty()) {
    return tl::unexpected(Error{ErrorCode::kInvalid, "a ping has more than its number"});
  }
  if (auto merged = merge(*batch, now); !merged) return merged;
  channel_.write(FrameType::kAck, encode_number(batch->number), output);
  return Done{};
}

Result<void> Receiver::merge(const Batch& batch, Instant now) {
  const auto states = decode_states(batch.states);
  if (!states) return tl::unexpected(states.error());
  const Source source = source_of(channel_.peer());
  for (const CounterState& state : *states) counters_.merge(state, source, now);
  return Done{};
}

}  // namespace mete::escrow
