#include "wire/resp_reply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "wire/resp_command.h"
#include "wire/resp_skimmer.h"

namespace mete::wire {
namespace {

using namespace std::string_literals;

RespValue null() { return {}; }
RespValue simple(std::string text) { return {.type = RespType::kSimple, .text = std::move(text)}; }
RespValue error(std::string text) { return {.type = RespType::kError, .text = std::move(text)}; }
RespValue integer(std::int64_t value) { return {.type = RespType::kInteger, .integer = value}; }
RespValue boolean(bool value) { return {.type = RespType::kBoolean, .integer = value ? 1 : 0}; }
RespValue number(double value) { return {.type = RespType::kDouble, .number = value}; }
RespValue text(RespType type, std::string bytes) { return {.type = type, .text = std::move(bytes)}; }
RespValue bulk(std::string bytes) { return text(RespType::kBulk, std::move(bytes)); }
RespValue aggregate(RespType type, std::vector<RespValue> elements) {
  return {.type = type, .elements = std::move(elements)};
}
RespValue array(std::vector<RespValue> elements) { return aggregate(RespType::kArray, std::move(elements)); }

struct Row {
  std::string bytes;
  RespValue value;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"+OK\r\n", simple("OK")},
      {"+\r\n", simple("")},
      {"-NOLIMIT unknown limit 'x'\r\n", error("NOLIMIT unknown limit 'x'")},
      {":0\r\n", integer(0)},
      {":-9223372036854775808\r\n", integer(std::numeric_limits<std::int64_t>::min())},
      {":9223372036854775807\r\n", integer(std::numeric_limits<std::int64_t>::max())},
      {"$5\r\nalice\r\n", bulk("alice")},
      {"$0\r\n\r\n", bulk("")},
      {"$6\r\n\r\n\0:1\r\r\n"s, bulk("\r\n\0:1\r"s)},
      {"$-1\r\n", null()},
      {"*-1\r\n", null()},
      {"_\r\n", null()},
      {"*0\r\n", array({})},
      {"*2\r\n:1\r\n$1\r\nx\r\n", array({integer(1), bulk("x")})},
      {"*6\r\n:1\r\n:9\r\n:10\r\n:0\r\n:6000\r\n*0\r\n",
       array({integer(1), integer(9), integer(10), integer(0), integer(6000), array({})})},
      {"*2\r\n*1\r\n*1\r\n:7\r\n+x\r\n", array({array({array({integer(7)})}), simple("x")})},
      {"*2\r\n-ERR inside\r\n:1\r\n", array({error("ERR inside"), integer(1)})},
      {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n",
       aggregate(RespType::kMap, {simple("a"), integer(1), simple("b"), array({integer(2)})})},
      {"~2\r\n:1\r\n:2\r\n", aggregate(RespType::kSet, {integer(1), integer(2)})},
      {">2\r\n+invalidate\r\n_\r\n", aggregate(RespType::kPush, {simple("invalidate"), null()})},
      {",1.5\r\n", number(1.5)},
      {",-2e10\r\n", number(-2e10)},
      {",10\r\n", number(10)},
      {",inf\r\n", number(std::numeric_limits<double>::infinity())},
      {",-inf\r\n", number(-std::numeric_limits<double>::infinity())},
      {"#t\r\n", boolean(true)},
      {"#f\r\n", boolean(false)},
      {"(-3492890328409238509324850943850943825024385\r\n",
       text(RespType::kBigNumber, "-3492890328409238509324850943850943825024385")},
      {"!9\r\nERR a\r\nbc\r\n", error("ERR a\r\nbc")},
      {"=8\r\ntxt:a\r\nb\r\n", text(RespType::kVerbatim, "a\r\nb")},
      {"|1\r\n+ttl\r\n:3600\r\n:7\r\n", integer(7)},
      {"|0\r\n-ERR x\r\n", error("ERR x")},
      {"|1\r\n+a\r\n%1\r\n$1\r\nk\r\n*1\r\n:1\r\n-ERR y\r\n", error("ERR y")},
      {"*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n", array({integer(1), integer(2)})},
      {"|1\r\n+outer\r\n|1\r\n+inner\r\n:0\r\n:1\r\n+value\r\n", simple("value")},
  };
  return kRows;
}

// All rows behind one another.
std::string all_bytes() {
  std::string bytes;
  for (const Row& row : rows()) bytes += row.bytes;
  return bytes;
}

std::vector<RespValue> read_all(ReplyParser& parser) {
  std::vector<RespValue> values;
  for (auto reply = parser.next(); reply.has_value() && *reply; reply = parser.next()) values.push_back(**reply);
  return values;
}

TEST(RespReplyTest, ReadsEveryTypeSplitAtEveryByte) {
  for (const Row& row : rows()) {
    for (std::size_t split = 0; split < row.bytes.size(); ++split) {
      ReplyParser parser;
      parser.append(std::string_view(row.bytes).substr(0, split));
      EXPECT_TRUE(read_all(parser).empty()) << row.bytes << " at " << split;
      parser.append(std::string_view(row.bytes).substr(split));
      EXPECT_EQ(read_all(parser), std::vector{row.value}) << row.bytes << " at " << split;
    }
  }
}

TEST(RespReplyTest, ReadsManyRepliesInPiecesOfAnySize) {
  const std::string bytes = all_bytes();
  std::vector<RespValue> expected;
  for (const Row& row : rows()) expected.push_back(row.value);
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{64}, bytes.size()}) {
    ReplyParser parser;
    std::vector<RespValue> values;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      parser.append(std::string_view(bytes).substr(at, size));
      for (RespValue& value : read_all(parser)) values.push_back(std::move(value));
    }
    EXPECT_EQ(values, expected) << "in pieces of " << size;
  }
}

TEST(RespReplyTest, ReadsNotANumber) {
  ReplyParser parser;
  parser.append(",nan\r\n");
  const auto reply = parser.next();
  ASSERT_TRUE(reply.has_value() && *reply);
  EXPECT_TRUE(std::isnan((*reply)->number));
}

// Pieces that end inside a reply, and are large enough that the parser lets go of what it has read.
TEST(RespReplyTest, ReadsLongStreams) {
  const std::string reply = "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  std::string bytes;
  for (int count = 0; count < 1000; ++count) bytes += reply;
  ReplyParser parser;
  std::size_t replies = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 70'001) {
    parser.append(std::string_view(bytes).substr(at, 70'001));
    for (const RespValue& value : read_all(parser)) {
      ASSERT_EQ(value.text.size(), 1000U);
      ++replies;
    }
  }
  EXPECT_EQ(replies, 1000U);
}

struct BadRow {
  std::string bytes;
  std::string reason;
};

TEST(RespReplyTest, SaysWhatIsWrong) {
  const BadRow bad_rows[] = {
      {"HTTP/1.1 400 Bad Request\r\n",
       R"(bad reply "HTTP/1.1 400 Bad Request": no type of RESP begins like this; is it the port of another protocol?)"},
      {"\r\n", R"(bad reply "": an empty line)"},
      {":1x\r\n", R"(bad reply ":1x": not an integer)"},
      {":\r\n", R"(bad reply ":": not an integer)"},
      {":9223372036854775808\r\n", R"(bad reply ":9223372036854775808": not an integer)"},
      {"#x\r\n", R"(bad reply "#x": not a boolean)"},
      {",1.5x\r\n", R"(bad reply ",1.5x": not a double)"},
      {",infinity\r\n", R"(bad reply ",infinity": not a double)"},
      {"(12a\r\n", R"(bad reply "(12a": not a big number)"},
      {"_x\r\n", R"(bad reply "_x": not a null)"},
      {"$?\r\n", R"(bad reply "$?": its length is not a number)"},
      {"$-2\r\n", R"(bad reply "$-2": its length is not a number)"},
      {"%-1\r\n", R"(bad reply "%-1": its length is not a number)"},
      {"$33\r\n", R"(bad reply "$33": it is longer than the 32 bytes that are accepted)"},
      {"*9\r\n", R"(bad reply "*9": it is longer than the 8 elements that are accepted)"},
      {"%5\r\n", R"(bad reply "%5": it is longer than the 8 elements that are accepted)"},
      {"*2\r\n*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "bad reply: more than 8 elements"},
      {"*1\r\n*1\r\n*1\r\n*1\r\n", "bad reply: nested more than 3 deep"},
      {"$1\r\nxyz\r\n", "bad reply: a string of 1 bytes goes on after its end"},
      {"=2\r\nab\r\n", "bad reply: a verbatim string does not begin with its format"},
      {"+" + std::string(100, 'x'), "bad reply \"+" + std::string(63, 'x') + "…\": its line does not end"},
  };
  for (const BadRow& row : bad_rows) {
    ReplyParser parser({.bulk_bytes_max = 32, .line_bytes_max = 80, .elements_max = 8, .depth_max = 3});
    parser.append(row.bytes);
    const auto reply = parser.next();
    ASSERT_FALSE(reply.has_value()) << row.bytes;
    EXPECT_EQ(reply.error().message, row.reason);
    parser.append("+OK\r\n");
    EXPECT_FALSE(parser.next().has_value()) << "after " << row.bytes;
  }
}

TEST(RespCommandTest, IsAnArrayOfBulkStrings) {
  const std::string_view words[] = {"TAKE", "api", std::string_view("a\r\0b", 4), ""};
  EXPECT_EQ(encode_command(words), "*4\r\n$4\r\nTAKE\r\n$3\r\napi\r\n$4\r\na\r\0b\r\n$0\r\n\r\n"s);
}

// --- The skimmer sees the same replies as the parser. --------------------------------------------------------------

struct Skimmed {
  bool is_error = false;
  std::optional<std::int64_t> integer;
  bool operator==(const Skimmed&) const = default;
};

Skimmed skimmed_of(const RespValue& value) {
  Skimmed skimmed = {.is_error = value.is_error(), .integer = std::nullopt};
  if (value.type == RespType::kInteger) skimmed.integer = value.integer;
  if (value.type == RespType::kArray && !value.elements.empty() && value.elements[0].type == RespType::kInteger) {
    skimmed.integer = value.elements[0].integer;
  }
  return skimmed;
}

// Gives the skimmer what it left and `size` bytes more at a time.
std::vector<Skimmed> skim_in_pieces(std::string_view bytes, std::size_t size) {
  ReplySkimmer skimmer;
  std::vector<Skimmed> replies;
  std::size_t used = 0;
  for (std::size_t given = 0; given < bytes.size();) {
    given = std::min(given + size, bytes.size());
    const auto skimmed = skimmer.skim(bytes.substr(used, given - used), [&](const SkimmedReply& reply) {
      replies.push_back({reply.is_error, reply.has_integer ? std::optional(reply.integer) : std::nullopt});
    });
    EXPECT_TRUE(skimmed);
    used += skimmed.value_or(0);
  }
  EXPECT_EQ(used, bytes.size());
  return replies;
}

TEST(ReplySkimmerTest, SeesWhatTheParserReads) {
  const std::string bytes = all_bytes();
  std::vector<Skimmed> expected;
  for (const Row& row : rows()) expected.push_back(skimmed_of(row.value));
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    ASSERT_EQ(skim_in_pieces(bytes, size), expected) << "in pieces of " << size;
  }
}

TEST(ReplySkimmerTest, TellsTheErrorsText) {
  ReplySkimmer skimmer;
  std::string told;
  const auto used = skimmer.skim("-OOM no room\r\n+OK\r\n-x", [&](const SkimmedReply& reply) { told += reply.error; });
  EXPECT_EQ(used, 19U);
  EXPECT_EQ(told, "OOM no room");
}

TEST(ReplySkimmerTest, SaysWhatIsWrong) {
  const BadRow bad_rows[] = {
      {"HTTP/1.1 400\r\n",
       R"(bad reply "HTTP/1.1 400": no type of RESP begins like this; is it the port of another protocol?)"},
      {"\r\n", R"(bad reply "": an empty line)"},
      {"*9\r\n", R"(bad reply "*9": it is longer than the 8 elements that are accepted)"},
      {"*7\r\n*7\r\n", "bad reply: more than 8 elements"},
      {"+" + std::string(100, 'x'), "bad reply \"+" + std::string(63, 'x') + "…\": its line does not end"},
  };
  for (const BadRow& row : bad_rows) {
    ReplySkimmer skimmer({.bulk_bytes_max = 32, .line_bytes_max = 80, .elements_max = 8});
    const auto used = skimmer.skim(row.bytes, [](const SkimmedReply&) { FAIL(); });
    ASSERT_FALSE(used) << row.bytes;
    EXPECT_EQ(used.error().message, row.reason);
  }
}

}  // namespace
}  // namespace mete::wire
