#include "wire/grpc/proto_message.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace mete::wire {
namespace {

enum class Color : std::int32_t { kRed, kBlue };

struct Inner {
  static constexpr std::string_view kProto = "test.v1.Inner";
  static void visit_proto(auto& value, auto&& each) { each(1, "name", value.name, "Who it is."); }
  std::string name;
};

struct Outer {
  static constexpr std::string_view kProto = "test.v1.Outer";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "on", value.on);
    each(2, "number", value.number);
    each(3, "maybe", value.maybe, "Perhaps.");
    each(4, "inner", value.inner);
    each(5, "inners", value.inners);
    each(6, "numbers", value.numbers);
    each(7, "color", value.color);
    each(8, "some_bytes", value.some_bytes);
    each(9, "names", value.names);
  }
  bool on = false;
  std::int64_t number = 0;
  std::optional<std::int64_t> maybe;
  std::optional<Inner> inner;
  std::vector<Inner> inners;
  std::vector<std::int64_t> numbers;
  Color color = Color::kRed;
  Bytes some_bytes;
  std::vector<std::string> names;
};

}  // namespace

template <>
struct ProtoEnum<Color> {
  static constexpr std::string_view kProto = "test.v1.Color";
  static constexpr std::array<std::string_view, 2> kNames = {"RED", "BLUE"};
};

namespace {

using namespace std::string_literals;

TEST(ProtoMessage, ReadsWhatItWrote) {
  Outer told;
  told.on = true;
  told.number = std::numeric_limits<std::int64_t>::min();
  told.maybe = 0;
  told.inner = Inner{};
  told.inners = {{"a"}, {""}};
  told.numbers = {0, -1, 7};
  told.color = Color::kBlue;
  told.some_bytes = Bytes("\0\xff"s);
  told.names = {"", "b"};
  Outer read;
  ASSERT_TRUE(read_proto(write_proto(told), read));
  EXPECT_TRUE(read.on);
  EXPECT_EQ(read.number, told.number);
  EXPECT_EQ(read.maybe, 0);
  ASSERT_TRUE(read.inner);
  ASSERT_EQ(read.inners.size(), 2U);
  EXPECT_EQ(read.inners[0].name, "a");
  EXPECT_EQ(read.numbers, told.numbers);
  EXPECT_EQ(read.color, Color::kBlue);
  EXPECT_EQ(read.some_bytes, told.some_bytes);
  EXPECT_EQ(read.names, told.names);
}

TEST(ProtoMessage, WhatIsEmptyIsLeftOutAndStaysSo) {
  EXPECT_EQ(write_proto(Outer()), "");
  Outer read;
  ASSERT_TRUE(read_proto("", read));
  EXPECT_FALSE(read.maybe);
  EXPECT_FALSE(read.inner);
}

TEST(ProtoMessage, ReadsPackedNumbersAndSkipsWhatItDoesNotKnow) {
  Outer read;
  ASSERT_TRUE(read_proto("\x32\x03\x01\x96\x01\xa2\x06\x02hi\x10\x05"s, read));
  EXPECT_EQ(read.numbers, (std::vector<std::int64_t>{1, 150}));
  EXPECT_EQ(read.number, 5);
}

TEST(ProtoMessage, RefusesWhatIsNoMessage) {
  for (const std::string& bytes : {"\xff"s, "\x0a\x05"s, "\x22\x02\x0a\x05"s, "\x32\x01\x80"s, "\x07"s}) {
    Outer read;
    EXPECT_FALSE(read_proto(bytes, read)) << bytes.size();
  }
}

TEST(ProtoMessage, SkipsFieldsOfOtherTypes) {
  Outer read;
  read.number = 5;
  // Number 2 as eight bytes, as four and as a text; names 9 as a number; inner 4 as a number.
  ASSERT_TRUE(read_proto("\x11\x03\0\0\0\0\0\0\0\x15\x03\0\0\0\x12\x01\x03\x48\x01\x20\x01"s, read));
  EXPECT_EQ(read.number, 5);
  EXPECT_TRUE(read.names.empty());
  EXPECT_FALSE(read.inner);
}

TEST(ProtoMessage, RefusesTextsThatAreNotUtf8) {
  Outer read;
  EXPECT_FALSE(read_proto("\x4a\x01\xff"s, read));
  EXPECT_TRUE(read_proto("\x42\x01\xff"s, read)) << "bytes are any";
}

TEST(ProtoFiles, TellsThemAsPeopleWriteThem) {
  ProtoFiles files;
  files.add<Outer>();
  files.add_method("test.v1.Service", "What it is for.",
                   {"Ask", "test.v1.Outer", "test.v1.Inner", true, false, "Asks."});
  const ProtoFile* const file = files.find_symbol("test.v1.Service.Ask");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->name(), "test/v1/test.proto");
  EXPECT_EQ(files.find_file("test/v1/test.proto"), file);
  EXPECT_EQ(files.find_symbol("test.v1.Inner"), file);
  EXPECT_EQ(files.find_symbol("test.v1.Nobody"), nullptr);
  EXPECT_EQ(file->text(), R"(syntax = "proto3";

package test.v1;

// What it is for.
service Service {
  // Asks.
  rpc Ask(stream Outer) returns (Inner);
}

enum Color {
  RED = 0;
  BLUE = 1;
}

message Outer {
  bool on = 1;
  int64 number = 2;
  // Perhaps.
  optional int64 maybe = 3;
  Inner inner = 4;
  repeated Inner inners = 5;
  repeated int64 numbers = 6;
  Color color = 7;
  bytes some_bytes = 8;
  repeated string names = 9;
}

message Inner {
  // Who it is.
  string name = 1;
}
)");
}

}  // namespace
}  // namespace mete::wire
