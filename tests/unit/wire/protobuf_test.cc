#include "wire/protobuf.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace mete::wire {
namespace {

using namespace std::string_literals;

TEST(Protobuf, WritesTheBytesOfTheFormat) {
  const struct {
    ProtobufWriter writer;
    std::string bytes;
  } rows[] = {
      {ProtobufWriter(), ""},
      {ProtobufWriter().number(1, 150), "\x08\x96\x01"s},
      {ProtobufWriter().number(1, 0), ""},
      {ProtobufWriter().chosen_number(6, 0), "\x30\x00"s},
      {ProtobufWriter().bytes(2, "testing"), "\x12\x07testing"s},
      {ProtobufWriter().bytes(2, ""), ""},
      {ProtobufWriter().message(3, ""), "\x1a\x00"s},
      {ProtobufWriter().number(64, 1), "\x80\x04\x01"s},
      {ProtobufWriter().number(1, std::numeric_limits<std::uint64_t>::max()),
       "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s},
  };
  for (const auto& row : rows) EXPECT_EQ(row.writer.text(), row.bytes);
}

TEST(Protobuf, ReadsWhatItWrote) {
  const std::string bytes =
      ProtobufWriter().number(1, 7).bytes(2, "a\0b"s).chosen_number(3, 0).number(4, 1ULL << 63).text();
  ProtobufReader reader(bytes);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 1U);
  EXPECT_EQ(reader.number(), 7U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.bytes(), "a\0b"s);
  EXPECT_EQ(reader.number(), 0U) << "not of the field before";
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 3U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.signed_number(), std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.is_whole());
}

TEST(Protobuf, SkipsNumbersOfFixedSize) {
  const std::string bytes = "\x09"s + "12345678" + "\x15"s + "1234" + "\x18\x05"s;
  ProtobufReader reader(bytes);
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 3U);
  EXPECT_EQ(reader.number(), 5U);
}

TEST(Protobuf, EndsAtWhatCannotBe) {
  const std::string rows[] = {
      "\x08"s,                                              // a number that is missing
      "\x08\x80"s,                                          // one that goes on
      "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s,  // one of more than 64 bits
      "\x12\x05"
      "abc"s,                                                   // bytes that are missing
      "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s + "abc",  // very many of them
      "\x00\x01"s,                                              // the field 0
      "\x0b"s,                                                  // a group, which nobody writes any more
      "\x0f\x01"s,                                              // no type
      "\x09"
      "1234567"s,
      "\x15"
      "123"s,
  };
  for (const std::string& row : rows) {
    ProtobufReader reader(row);
    while (reader.next()) {
    }
    EXPECT_FALSE(reader.is_whole()) << ::testing::PrintToString(row);
    EXPECT_FALSE(reader.next());
  }
}

}  // namespace
}  // namespace mete::wire
