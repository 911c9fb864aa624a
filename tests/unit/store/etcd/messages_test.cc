#include "store/etcd/messages.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/protobuf.h"

namespace mete::store::etcd {
namespace {

using wire::ProtobufWriter;
using namespace std::string_literals;

// Byte for byte, as etcd's own client writes it.
TEST(EtcdMessages, ATransactionComparesChangesAndElseReads) {
  const Txn txn = {.compares = {{"a", 5}, {"b", 0}}, .puts = {{"a", "v"}}, .deletes = {{.key = "b"}}, .reads = {{"a"}}};
  EXPECT_EQ(encode(txn), "\x0a\x07\x10\x02\x1a\x01"s + "a\x30\x05" + "\x0a\x07\x10\x02\x1a\x01"s + "b\x30\x00"s +
                             "\x12\x08\x12\x06\x0a\x01"s + "a\x12\x01v" + "\x12\x05\x1a\x03\x0a\x01"s + "b" +
                             "\x1a\x05\x0a\x03\x0a\x01"s + "a");
}

TEST(EtcdMessages, WithNothingToChangeItReads) {
  const Txn txn = {.reads = {{.key = "a", .end = "b", .count_max = 3, .keys_only = true}}};
  EXPECT_EQ(encode(txn), "\x12\x0c\x0a\x0a\x0a\x01"s + "a\x12\x01" + "b\x18\x03\x40\x01");
}

std::string answer_with(std::string_view pair) {
  const std::string range = ProtobufWriter().message(2, pair).number(3, 1).number(4, 9).text();
  return ProtobufWriter()
      .message(1, ProtobufWriter().number(3, 77).text())
      .number(2, 1)
      .message(3, ProtobufWriter().message(1, range).text())
      .text();
}

TEST(EtcdMessages, AnAnswerTellsWhatWasRead) {
  const std::string pair = ProtobufWriter().bytes(1, "key").number(2, 3).number(3, 42).bytes(5, "value").text();
  const auto answer = decode_txn(answer_with(pair));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->has_changed);
  EXPECT_EQ(answer->revision, 77);
  ASSERT_EQ(answer->reads.size(), 1U);
  EXPECT_TRUE(answer->reads[0].has_more);
  EXPECT_EQ(answer->reads[0].count, 9U);
  ASSERT_EQ(answer->reads[0].found.size(), 1U);
  EXPECT_EQ(answer->reads[0].found[0].key, "key");
  EXPECT_EQ(answer->reads[0].found[0].value, "value");
  EXPECT_EQ(answer->reads[0].found[0].revision, 42);
}

TEST(EtcdMessages, WhatCannotBeReadIsNoAnswer) {
  EXPECT_FALSE(decode_txn("\x08"s));
  EXPECT_FALSE(decode_txn(answer_with("\x0a\x05"s + "abc")));
  EXPECT_FALSE(decode_token(""));
  EXPECT_FALSE(decode_token("\x12\x05"s + "abc"));
  const std::string whole = answer_with(ProtobufWriter().bytes(1, "key").text());
  for (std::size_t size = 1; size < whole.size(); ++size) (void)decode_txn(whole.substr(0, size));  // none is read past
  EXPECT_EQ(decode_token("\x12\x03"s + "abc").value(), "abc");
  EXPECT_EQ(encode_authenticate("u", "p"), "\x0a\x01u\x12\x01p"s);
}

}  // namespace
}  // namespace mete::store::etcd
