#include "escrow/peers/receiver.h"
#include "base/errors.h"
#include "base/try.h"

#include <utility>

namespace mete::escrow {

Result<void> Receiver::receive(std::string_view& input, std::string& output, Instant now) {
  for (;;) {
    const auto frame = TRY(channel_.read(input, output));
    if (!frame) return {};
    if (auto taken = take(*frame, output, now); !taken) {
      return channel_.refuse(std::move(taken).error(), output);
    }
  }
}

Result<void> Receiver::take(const Frame& frame, std::string& output, Instant now) {
  const bool is_ping = frame.type == FrameType::kPing;
  if (!is_ping && frame.type != FrameType::kState) {
    return base::invalid("a frame came that only a receiver has");
  }
  const auto batch = TRY(decode_batch(frame.body));
  if (is_ping && !batch.states.empty()) {
    return base::invalid("a ping has more than its number");
  }
  TRY(merge(batch, now));
  channel_.write(FrameType::kAck, encode_number(batch.number), output);
  return {};
}

Result<void> Receiver::merge(const Batch& batch, Instant now) {
  const auto states = TRY(decode_states(batch.states));
  const Source source = source_of(channel_.peer());
  for (const CounterState& state : states) counters_.merge(state, source, now);
  return {};
}

}  // namespace mete::escrow
