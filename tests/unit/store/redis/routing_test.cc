#include "store/redis/client/routing.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mete::store::redis {
namespace {

using wire::RespType;
using wire::RespValue;

RespValue error(std::string text) { return {.type = RespType::kError, .text = std::move(text)}; }

TEST(ReplyKindTest, IsToldByTheFirstWordOfAnError) {
  const struct {
    std::string_view text;
    ReplyKind kind;
  } rows[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", ReplyKind::kNoScript},
      {"LOADING Redis is loading the dataset in memory", ReplyKind::kLater},
      {"BUSY Redis is busy running a script.", ReplyKind::kLater},
      {"TRYAGAIN Multiple keys request during rehashing of slot", ReplyKind::kLater},
      {"READONLY You can't write against a read only replica.", ReplyKind::kNotHere},
      {"MASTERDOWN Link with MASTER is down", ReplyKind::kNotHere},
      {"CLUSTERDOWN The cluster is down", ReplyKind::kNotHere},
      {"UNBLOCKED force unblock from blocking operation", ReplyKind::kNotHere},
      {"MOVED 1 a:1", ReplyKind::kMoved},
      {"ASK 1 a:1", ReplyKind::kAsk},
      {"OOM command not allowed when used memory > 'maxmemory'.", ReplyKind::kAnswer},
      {"WRONGTYPE Operation against a key", ReplyKind::kAnswer},
      {"ERR READONLY", ReplyKind::kAnswer},
      {"BUSYGROUP Consumer Group name already exists", ReplyKind::kAnswer},
      {"LOADING", ReplyKind::kLater},
      {"", ReplyKind::kAnswer},
  };
  for (const auto& row : rows) EXPECT_EQ(kind_of(error(std::string(row.text))), row.kind) << row.text;
  EXPECT_EQ(kind_of({.type = RespType::kBulk, .text = "MOVED 1 a:1"}), ReplyKind::kAnswer);
}

TEST(RedirectionTest, NamesSlotAndNode) {
  const net::Address asked{.host = "asked", .port = 7, .path = {}};
  const struct {
    std::string_view text;
    std::string_view address;  // empty: it cannot be understood
    std::uint16_t slot = 0;
  } rows[] = {
      {"MOVED 3999 127.0.0.1:6381", "127.0.0.1:6381", 3999},
      {"ASK 16383 redis-1.example:6381", "redis-1.example:6381", 16383},
      {"MOVED 0 ::1:6381", "[::1]:6381", 0},
      {"MOVED 1 :6381", "asked:6381", 1},
      {"MOVED 1 ?:6381", "asked:6381", 1},
      {"MOVED", ""},
      {"MOVED 1", ""},
      {"MOVED x a:1", ""},
      {"MOVED 16384 a:1", ""},
      {"MOVED -1 a:1", ""},
      {"MOVED 1 a", ""},
      {"MOVED 1 a:0", ""},
      {"MOVED 1 a:65536", ""},
  };
  for (const auto& row : rows) {
    const auto redirection = redirection_of(error(std::string(row.text)), asked);
    ASSERT_EQ(redirection.has_value(), !row.address.empty()) << row.text;
    if (!redirection) continue;
    EXPECT_EQ(redirection->address.to_string(), row.address);
    EXPECT_EQ(redirection->slot, row.slot);
  }
}

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
