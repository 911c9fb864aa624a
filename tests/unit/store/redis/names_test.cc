#include "store/redis/names.h"

#include <gtest/gtest.h>

namespace mete::store::redis {
namespace {

TEST(RedisNames, TellKeysApartAndKeepTheirHashTagWhole) {
  const struct {
    std::string_view key;
    std::string_view tag;
  } cases[] = {
      {"alice", "{alice}"},     {"a}b", "{a%7Db}"},
      {"a%7Db", "{a%257Db}"},   {"}", "{%7D}"},
      {"%", "{%25}"},           {"{a{b", "{{a{b}"},
      {"a b\r\n", "{a b\r\n}"}, {std::string_view("\0\xff", 2), std::string_view("{\0\xff}", 4)},
  };
  for (const auto& [key, tag] : cases) {
    EXPECT_EQ(tagged(key), tag);
    EXPECT_EQ(unescape_key(escape_key(key)), key);
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
      EXPECT_EQ(parse_key_name(key_name(key, epoch)), (KeyName{std::string(key), epoch})) << tag;
    }
  }
  EXPECT_EQ(key_name("alice", 0), "mete.key:{alice}");
  EXPECT_EQ(key_name("alice", 7), "mete.key:{alice}:7");
}

TEST(RedisNames, AreNotWhatSomebodyElseMade) {
  for (const std::string_view name :
       {"", "mete.key:", "mete.key:{", "mete.key:{a", "mete.key:{}", "mete.key:a}", "mete.key:{a}7",
        "mete.key:{a}:", "mete.key:{a}:x", "mete.key:{a}:7x", "mete.key:{a}:0", "mete.key:{a}:07", "mete.key:{a}:-1",
        "mete.key:{a}:18446744073709551616", "mete.key:{a}b}", "mete.key:{%}", "mete.key:{%41}", "mete.keys:{a}",
        "{a}"}) {
    EXPECT_FALSE(parse_key_name(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace mete::store::redis
