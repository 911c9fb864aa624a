#include "store/redis/client/routing.h"

#include <gtest/gtest.h>

#include <string>

namespace mete::store::redis {
namespace {

const net::Address kAsked{.host = "asked", .port = 7, .path = {}};

Result<std::vector<SlotRange>> parse(std::string_view bytes) {
  wire::ReplyParser parser;
  parser.append(bytes);
  return parse_slots(parser.next().value().value(), kAsked);
}

TEST(SlotsTest, AreReadFromClusterSlots) {
  const auto ranges = parse(
      "*3\r\n"
      "*4\r\n:0\r\n:5460\r\n*4\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n*0\r\n*3\r\n$1\r\nb\r\n:2\r\n$2\r\nid\r\n"
      "*3\r\n:5461\r\n:5461\r\n*3\r\n$0\r\n\r\n:3\r\n$2\r\nid\r\n"
      "*3\r\n:5462\r\n:16383\r\n*3\r\n$-1\r\n:4\r\n$2\r\nid\r\n");
  ASSERT_TRUE(ranges) << ranges.error().message;
  const std::vector<SlotRange> expected = {
      {.first = 0, .last = 5460, .master = {.host = "a", .port = 1, .path = {}}},
      {.first = 5461, .last = 5461, .master = {.host = "asked", .port = 3, .path = {}}},
      {.first = 5462, .last = 16383, .master = {.host = "asked", .port = 4, .path = {}}},
  };
  EXPECT_EQ(*ranges, expected);
  EXPECT_TRUE(parse("*0\r\n")->empty());
}

TEST(SlotsTest, WhatIsNoTableIsRefused) {
  for (const std::string_view bytes : {
           "*1\r\n:1\r\n",
           "*1\r\n*2\r\n:0\r\n:1\r\n",
           "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
           "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
           "*1\r\n*3\r\n:2\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
           "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\na\r\n",
           "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:0\r\n",
           "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n",
       }) {
    EXPECT_FALSE(parse(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace mete::store::redis
