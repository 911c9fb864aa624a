#include "escrow/counters/codec.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/errors.h"
#include "core/validate.h"

namespace mete::escrow {

namespace {

constexpr std::uint8_t kHasBase = 1;
constexpr std::uint8_t kHasExpiry = 2;
constexpr std::uint8_t kIsPart = 4;
constexpr std::uint8_t kFlags = kHasBase | kHasExpiry | kIsPart;

void encode_wide(Encoder& encoder, base::Uint128 value) {
  encoder.varint(static_cast<std::uint64_t>(value));
  encoder.varint(static_cast<std::uint64_t>(value >> 64));
}

base::Uint128 decode_wide(Decoder& decoder) {
  const std::uint64_t low = decoder.varint();
  return base::Uint128{decoder.varint()} << 64 | low;
}

void encode_stamp(Encoder& encoder, const Stamp& stamp) {
  encoder.varint(stamp.number);
  encode_writer(encoder, stamp.writer);
}

Stamp decode_stamp(Decoder& decoder) {
  const std::uint64_t number = decoder.varint();
  return {number, decode_writer(decoder)};
}

void encode_part(Encoder& encoder, std::string_view key, const Counter& counter, std::span<const Slot> slots) {
  const bool has_expiry = counter.expiry != ExpiryWord{};
  const bool is_part = slots.size() < counter.slots.size();
  encoder.text(key);
  encoder.byte(static_cast<std::uint8_t>((counter.epoch.has_base ? kHasBase : 0) | (has_expiry ? kHasExpiry : 0) |
                                         (is_part ? kIsPart : 0)));
  encode_stamp(encoder, counter.epoch.stamp);
  if (counter.epoch.has_base) encoder.number(counter.epoch.base);
  if (has_expiry) {
    encode_stamp(encoder, counter.expiry.stamp);
    encoder.instant(counter.expiry.at);
  }
  encoder.varint(slots.size());
  for (const Slot& slot : slots) {
    encode_writer(encoder, slot.writer);
    encode_wide(encoder, slot.increments);
    encode_wide(encoder, slot.decrements);
  }
}

bool is_short(const Writer& writer) { return writer.node.size() <= kNodeBytesMax; }

// nullptr, or what is wrong with the slots.
const char* decode_slots(Decoder& decoder, Slots& slots) {
  const std::uint64_t count = decoder.varint();
  if (count > kSlotsPerState) return "it has too many slots";
  for (std::uint64_t i = 0; i < count && decoder.is_whole(); ++i) {
    Slot slot{.writer = decode_writer(decoder)};
    slot.increments = decode_wide(decoder);
    slot.decrements = decode_wide(decoder);
    if (slot.writer.node.empty() || !is_short(slot.writer)) return "a slot's node has no name, or too long a one";
    if (slot.increments > kSlotMax || slot.decrements > kSlotMax) return "a slot is too large";
    if (!slots.empty() && !(slots.back().writer < slot.writer)) return "its slots are out of order";
    slots.push_back(std::move(slot));
  }
  return nullptr;
}

// nullptr, or what is wrong with the state.
const char* decode_state(Decoder& decoder, CounterState& state) {
  state.key = decoder.text();
  const std::uint8_t flags = decoder.byte();
  if ((flags & ~kFlags) != 0) return "it has unknown flags";
  state.is_part = (flags & kIsPart) != 0;
  Counter& counter = state.counter;
  counter.epoch.stamp = decode_stamp(decoder);
  counter.epoch.has_base = (flags & kHasBase) != 0;
  if (counter.epoch.has_base) counter.epoch.base = decoder.signed_number();
  if ((flags & kHasExpiry) != 0) {
    counter.expiry.stamp = decode_stamp(decoder);
    counter.expiry.at = decoder.instant();
  }
  if (const char* const problem = decode_slots(decoder, counter.slots)) return problem;
  if (!decoder.is_whole()) return "it is cut off";
  if (!core::validate_key(state.key)) return "its key is empty or too long";
  if (!is_short(counter.epoch.stamp.writer) || !is_short(counter.expiry.stamp.writer)) {
    return "the name of a node is too long";
  }
  if (std::max(counter.epoch.stamp.number, counter.expiry.stamp.number) > kStampNumberMax) {
    return "its stamp is too large";
  }
  return nullptr;
}

}  // namespace

void encode_writer(Encoder& encoder, const Writer& writer) {
  encoder.text(writer.node);
  encoder.varint(writer.incarnation);
}

Writer decode_writer(Decoder& decoder) {
  Writer writer{.node = std::string(decoder.text())};
  writer.incarnation = decoder.varint();
  return writer;
}

void StateWriter::write(std::string_view key, const Counter& counter) {
  std::span<const Slot> slots(counter.slots.data(), counter.slots.size());
  do {
    const auto part = slots.first(std::min(slots.size(), kSlotsPerState));
    encode_part(encoder_, key, counter, part);
    slots = slots.subspan(part.size());
    if (encoder_.size() >= kPieceBytes) end_piece();
  } while (!slots.empty());
}

void StateWriter::end_piece() {
  bytes_complete_ += encoder_.size();
  pieces_.emplace_back(encoder_.view());
  encoder_.clear();
}

std::vector<std::string> StateWriter::take() && {
  if (!encoder_.is_empty()) end_piece();
  return std::move(pieces_);
}

Result<std::vector<CounterState>> decode_states(std::string_view bytes) {
  std::vector<CounterState> states;
  Decoder decoder(bytes);
  while (decoder.left() > 0) {
    CounterState& state = states.emplace_back();
    if (const char* const problem = decode_state(decoder, state)) {
      return base::invalid("counter " + std::to_string(states.size()) + " of a batch cannot be read: " + problem);
    }
  }
  return states;
}

}  // namespace mete::escrow
