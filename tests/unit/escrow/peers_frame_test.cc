#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "escrow/peers/frame.h"

namespace mete::escrow {
namespace {

std::string frame_of(FrameType type, std::string_view body) {
  std::string bytes;
  append_header(bytes, type, body.size());
  return bytes.append(body);
}

// The error's message, or what there is instead of one.
std::string outcome_of(std::string_view input) {
  const auto frame = take_frame(input);
  if (!frame.has_value()) return frame.error().message;
  return *frame ? "frame" : "incomplete";
}

TEST(PeerFrame, IsTakenOffTheFront) {
  const std::string bytes = frame_of(FrameType::kState, "body") + frame_of(FrameType::kPing, "") + "MET";
  std::string_view input = bytes;
  const auto first = take_frame(input);
  ASSERT_TRUE(first.has_value() && *first);
  EXPECT_EQ((*first)->type, FrameType::kState);
  EXPECT_EQ((*first)->body, "body");
  EXPECT_EQ((*first)->bytes, frame_of(FrameType::kState, "body"));
  const auto second = take_frame(input);
  ASSERT_TRUE(second.has_value() && *second);
  EXPECT_EQ((*second)->type, FrameType::kPing);
  EXPECT_EQ(outcome_of(input), "incomplete");
}

TEST(PeerFrame, WaitsForEveryByteAndNoMore) {
  const std::string whole = frame_of(FrameType::kAck, "12345678");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(outcome_of(whole.substr(0, size)), "incomplete") << size;
  }
  EXPECT_EQ(outcome_of(whole), "frame");
}

TEST(PeerFrame, RefusesWhatIsNone) {
  const auto with = [](std::size_t at, char byte) {
    std::string bytes = frame_of(FrameType::kAck, "12345678");
    bytes[at] = byte;
    return bytes.substr(0, kFrameHeaderBytes);
  };
  EXPECT_THAT(outcome_of("G"), ::testing::HasSubstr("not the protocol of peers"));
  EXPECT_THAT(outcome_of("METE"), ::testing::HasSubstr("not the protocol of peers"));
  EXPECT_THAT(outcome_of(with(4, 2)), ::testing::HasSubstr("version 2"));
  EXPECT_THAT(outcome_of(with(5, 0)), ::testing::HasSubstr("unknown type 0"));
  EXPECT_THAT(outcome_of(with(5, 7)), ::testing::HasSubstr("unknown type 7"));
  EXPECT_THAT(outcome_of(with(6, 1)), ::testing::HasSubstr("unknown type"));
  EXPECT_THAT(outcome_of(with(11, 1)), ::testing::HasSubstr("too long"));
}

TEST(PeerFrame, TakesTheLongestBodyAndNoneLonger) {
  EXPECT_EQ(outcome_of(frame_of(FrameType::kState, std::string(kFrameBodyBytesMax, 'x'))), "frame");
  std::string header = frame_of(FrameType::kState, "").substr(0, 8);
  header += std::string("\x01\x00\x10\x00", 4);  // 1 MiB and a byte
  EXPECT_THAT(outcome_of(header), ::testing::HasSubstr("a frame of 1048577 bytes is too long"));
}

TEST(PeerHello, GivesBackWhatItGot) {
  const Hello hello{.node = {"node", 7}, .nonce = std::string(kNonceBytes, 'n'), .has_secret = true};
  EXPECT_EQ(decode_hello(encode_hello(hello)).value(), hello);
}

TEST(PeerHello, IsRefusedShortLongOrWithoutName) {
  Hello hello{.node = {"node", 7}, .nonce = std::string(kNonceBytes, 'n'), .has_secret = false};
  const std::string body = encode_hello(hello);
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(decode_hello(body.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_hello(body + "x").has_value());
  EXPECT_FALSE(decode_hello("\x02" + body.substr(1)).has_value()) << "a flag that is not known";
  hello.node.node = std::string(kNodeBytesMax + 1, 'n');
  EXPECT_FALSE(decode_hello(encode_hello(hello)).has_value());
  hello.node.node = "";
  EXPECT_FALSE(decode_hello(encode_hello(hello)).has_value());
}

TEST(PeerNumber, HasEightBytes) {
  EXPECT_EQ(decode_number(encode_number(1234567890123)).value(), 1234567890123U);
  EXPECT_FALSE(decode_number("1234567").has_value());
  EXPECT_FALSE(decode_number("123456789").has_value());
  EXPECT_FALSE(decode_batch("1234567").has_value());
  EXPECT_EQ(decode_batch("12345678rest").value().states, "rest");
}

}  // namespace
}  // namespace mete::escrow
