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

}  // namespace
}  // namespace mete::store::redis
