#include "store/redis/client/batch.h"

#include <gtest/gtest.h>

#include <string>

#include "store/redis/scripts.h"

namespace mete::store::redis {
namespace {

// What `redis-cli CLUSTER KEYSLOT` says to these.
TEST(SlotOf, IsThatOfTheHashTag) {
  const struct {
    std::string_view key;
    std::uint16_t slot;
  } rows[] = {
      {"", 0},
      {"a", 15495},
      {"123456789", 12739},
      {"{123456789}", 12739},
      {"mete:{123456789}:api", 12739},
      {"{123456789}{a}", 12739},
      {"}{123456789}", 12739},
      {"{}a", slot_of("{}a")},
      {"somekey", 11058},
      {"foo{hash_tag}", 2515},
      {"bar{hash_tag}", 2515},
  };
  for (const auto& row : rows) EXPECT_EQ(slot_of(row.key), row.slot) << row.key;
  // Nothing between the braces, or no end of them: the whole key counts.
  EXPECT_NE(slot_of("{}a"), slot_of("a"));
  EXPECT_NE(slot_of("{a"), slot_of("a"));
  EXPECT_NE(slot_of("{}{a}"), slot_of("a"));
}

TEST(BatchTest, WritesCommandsOneBehindTheOther) {
  const std::string_view lines("\r\n\0", 3);
  Batch batch;
  batch.add("a", {"GET", "a"});
  batch.add("", {"ECHO", lines});
  EXPECT_EQ(batch.bytes(), "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$4\r\nECHO\r\n$3\r\n" + std::string(lines) + "\r\n");
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch.command(0).slot, slot_of("a"));
  EXPECT_EQ(batch.command(1).slot, Batch::kAnySlot);
  EXPECT_EQ(batch.command(0).end, batch.command(1).begin);
  EXPECT_EQ(batch.command(1).end, batch.bytes().size());
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.bytes(), "");
}

TEST(BatchTest, CallsAScriptByItsDigestOrByItsText) {
  const std::string_view words[] = {"key", "1", "2"};
  Batch batch;
  batch.add("", {"PING"});
  batch.add_script("key", script(StoreScript::kLook), 1, words);
  const Batch::Command& command = batch.command(1);
  const std::string rest = "$1\r\n1\r\n$3\r\nkey\r\n$1\r\n1\r\n$1\r\n2\r\n";
  EXPECT_EQ(batch.bytes().substr(command.begin),
            "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" + std::string(script(StoreScript::kLook).digest()) + "\r\n" + rest);
  std::string eval;
  append_eval(eval, batch, command);
  const std::string text(script(StoreScript::kLook).text());
  EXPECT_EQ(eval, "*6\r\n$4\r\nEVAL\r\n$" + std::to_string(text.size()) + "\r\n" + text + "\r\n" + rest);
}

}  // namespace
}  // namespace mete::store::redis
