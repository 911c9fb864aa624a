#include "escrow/peers/frame.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "escrow/counters/codec.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kMagic = "METP";
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kHasSecret = 1;

bool is_known(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(FrameType::kHello) && type <= static_cast<std::uint8_t>(FrameType::kRefusal);
}

}  // namespace

void append_header(std::string& to, FrameType type, std::size_t body_bytes) {
  CHECK(body_bytes <= kFrameBodyBytesMax);
  char header[kFrameHeaderBytes] = {};
  std::copy(kMagic.begin(), kMagic.end(), header);
  header[4] = static_cast<char>(kVersion);
  header[5] = static_cast<char>(type);
  base::store(header + 8, static_cast<std::uint32_t>(body_bytes));
  to.append(header, sizeof header);
}

Result<std::optional<Frame>> take_frame(std::string_view& input) {
  const std::string_view magic = input.substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size())) {
    return base::invalid(
        "these bytes are not the protocol of peers: does the address lead to the peer port of a node?");
  }
  if (input.size() < kFrameHeaderBytes) return std::nullopt;
  const auto version = base::load<std::uint8_t>(input.data() + 4);
  const auto type = base::load<std::uint8_t>(input.data() + 5);
  const auto length = base::load<std::uint32_t>(input.data() + 8);
  if (version != kVersion) {
    return base::invalid("the other node speaks version " + std::to_string(version) +
                         " of the protocol of peers, and this one " + std::to_string(kVersion) +
                         ": run the same release on both");
  }
  if (!is_known(type) || base::load<std::uint16_t>(input.data() + 6) != 0) {
    return base::invalid("a frame of unknown type " + std::to_string(type) + ": run the same release on both nodes");
  }
  if (length > kFrameBodyBytesMax) return base::invalid("a frame of " + std::to_string(length) + " bytes is too long");
  const std::size_t size = kFrameHeaderBytes + length;
  if (input.size() < size) return std::nullopt;
  const Frame frame{static_cast<FrameType>(type), input.substr(kFrameHeaderBytes, length), input.substr(0, size)};
  input.remove_prefix(size);
  return frame;
}

std::string encode_hello(const Hello& hello) {
  CHECK(hello.nonce.size() == kNonceBytes);
  Encoder encoder;
  encoder.byte(hello.has_secret ? kHasSecret : 0);
  encode_writer(encoder, hello.node);
  encoder.text(hello.nonce);
  return std::string(encoder.view());
}

Result<Hello> decode_hello(std::string_view body) {
  Decoder decoder(body);
  const std::uint8_t flags = decoder.byte();
  Hello hello{.node = decode_writer(decoder), .nonce = std::string(decoder.text()), .has_secret = flags == kHasSecret};
  const bool has_name = !hello.node.node.empty() && hello.node.node.size() <= kNodeBytesMax;
  const bool is_fine = flags <= kHasSecret && has_name && hello.nonce.size() == kNonceBytes;
  if (!decoder.is_whole() || decoder.left() > 0 || !is_fine) return base::invalid("the hello cannot be read");
  return hello;
}

std::string encode_number(std::uint64_t number) {
  std::string body(sizeof number, '\0');
  base::store(body.data(), number);
  return body;
}

Result<std::uint64_t> decode_number(std::string_view body) {
  if (body.size() != sizeof(std::uint64_t)) return base::invalid("a number of eight bytes is missing");
  return base::load<std::uint64_t>(body.data());
}

Result<Batch> decode_batch(std::string_view body) {
  const auto number = TRY(decode_number(body.substr(0, sizeof(std::uint64_t))));
  return Batch{number, body.substr(sizeof(std::uint64_t))};
}

}  // namespace mete::escrow
