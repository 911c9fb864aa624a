// Any bytes from a peer: as its first words, behind a good hello, as a batch of counters, and as a sender's answers.
// They are read or refused; what is read can be written again, and merging it twice is merging it once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "escrow/peers/receiver.h"
#include "escrow/peers/sender.h"

namespace {

using namespace mete::escrow;

constexpr mete::Instant kNow = mete::Instant::from_unix_seconds(1'700'000'000);

void receive(std::string_view before, std::string_view input) {
  Roster roster;
  const Identity identity{.self = {"self", 1}, .secret = {}, .roster = roster};
  Counters counters(identity.self);
  Receiver receiver(identity, counters);
  std::string output;
  CHECK(receiver.receive(before, output, kNow).has_value());
  std::string_view rest = input;
  const bool is_fine = receiver.receive(rest, output, kNow).has_value();
  CHECK(rest.size() <= input.size());
  // What is left is the beginning of a frame.
  CHECK(!is_fine || rest.size() < kFrameHeaderBytes + kFrameBodyBytesMax);
}

void answer(std::string_view before, std::string_view input) {
  Roster roster;
  const Identity identity{.self = {"self", 1}, .secret = {}, .roster = roster};
  Counters counters(identity.self);
  CHECK(counters.add("key", 1, kNow).has_value());
  Progress progress;
  Sender sender(identity, {}, counters, progress, {kNow, kNow});
  CHECK(sender.receive(before, {kNow, kNow}).has_value());
  static_cast<void>(sender.receive(input, {kNow, kNow}));
}

void merge(std::string_view input) {
  const auto states = decode_states(input);
  if (!states) return;
  StateWriter writer;
  for (const CounterState& state : *states) {
    Counter counter = state.counter;
    CHECK(!counter.merge(state.counter));
    CHECK(counter == state.counter);
    static_cast<void>(counter.value());
    if (!counter.is_live(kNow)) continue;
    counter.expire_at({"self", 1}, kNow, kNow);
    CHECK(counter.add({"self", 1}, 1, kNow));
    CHECK(counter.merge(state.counter) || state.counter.epoch <= counter.epoch);
    writer.write(state.key, state.counter);
  }
  for (const std::string& piece : std::move(writer).take()) CHECK(decode_states(piece).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Hello greeting;
  greeting.node.node = "peer";
  greeting.nonce.assign(kNonceBytes, 'n');
  const std::string body = encode_hello(greeting);
  std::string hello;
  append_header(hello, FrameType::kHello, body.size());
  hello += body;
  receive({}, input);
  receive(hello, input);
  answer(hello, input);
  merge(input);
  return 0;
}
