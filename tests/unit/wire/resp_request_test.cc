#include "wire/resp_request.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "wire/text.h"

namespace mete::wire {
namespace {

using namespace std::string_literals;
using Status = RequestParser::Status;

// What a parser makes of a stream that arrives up to each of the `ends`: a line per request, and how it ended. Every
// call sees the bytes in another place.
std::string parsed(std::string_view stream, const std::vector<std::size_t>& ends, const RequestLimits& limits) {
  RequestParser parser(limits);
  std::string text;
  std::size_t start = 0;
  std::vector<std::string> buffers;  // kept, so that no address comes twice
  for (const std::size_t end : ends) {
    while (true) {
      const std::string& buffer = buffers.emplace_back(stream.substr(start, end - start));
      const Status status = parser.parse(buffer);
      if (status == Status::kNeedMore) break;
      if (status == Status::kError) return text + "error: " + parser.error();
      for (const std::string_view word : parser.words()) text += quote(word, word.size()) + " ";
      text += '\n';
      start += parser.consumed();
    }
  }
  if (start < stream.size()) text += "more";
  return text;
}

// Whole; cut in two at each byte; and one byte at a time: the same every time.
std::string parsed_every_way(std::string_view stream, const RequestLimits& limits = {}) {
  std::string whole = parsed(stream, {stream.size()}, limits);
  std::vector<std::size_t> every_byte;
  for (std::size_t at = 1; at <= stream.size(); ++at) {
    every_byte.push_back(at);
    EXPECT_EQ(parsed(stream, {at, stream.size()}, limits), whole) << quote(stream) << " cut at " << at;
  }
  EXPECT_EQ(parsed(stream, every_byte, limits), whole) << quote(stream) << " byte by byte";
  return whole;
}

TEST(RequestParser, ReadsArraysOfBulks) {
  const struct {
    std::string stream;
    std::string expected;
  } rows[] = {
      {"", ""},
      {"*1\r\n$4\r\nPING\r\n", "\"PING\" \n"},
      {"*3\r\n$4\r\nTAKE\r\n$3\r\napi\r\n$5\r\nalice\r\n", "\"TAKE\" \"api\" \"alice\" \n"},
      {"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "\"ECHO\" \"\" \n"},
      {"*1\r\n$0\r\n\r\n", "\"\" \n"},
      {"*1\r\n$2\r\n\r\n\r\n", "\"\\r\\n\" \n"},
      {"*1\r\n$3\r\na\0b\r\n"s, "\"a\\x00b\" \n"},
      {"*1\r\n$3\r\n$1\r\r\n", "\"$1\\r\" \n"},
      {"*0\r\n", "\n"},
      {"*-1\r\n", "\n"},
      {"*0\r\n*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n", "\n\"a\" \n\"b\" \n"},
      // Nine words are the usual ones' most; ten take the long way.
      {"*9\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n",
       R"("a" "b" "c" "d" "e" "f" "g" "h" "i" )"
       "\n"},
      {"*10\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n$"
       "1\r\n"
       "j\r\n",
       R"("a" "b" "c" "d" "e" "f" "g" "h" "i" "j" )"
       "\n"},
      {"*1\r\n$99\r\n" + std::string(99, 'x') + "\r\n", "\"" + std::string(99, 'x') + "\" \n"},
      {"*1\r\n$100\r\n" + std::string(100, 'x') + "\r\n", "\"" + std::string(100, 'x') + "\" \n"},
      // Not complete.
      {"*", "more"},
      {"*3\r\n$4\r\nTAKE\r\n$3\r\nap", "more"},
      {"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r", "\"PING\" \nmore"},
      {"*1048576\r\n", "more"},
      {"*1\r\n$1048576\r\nabc", "more"},
  };
  for (const auto& row : rows) EXPECT_EQ(parsed_every_way(row.stream), row.expected) << quote(row.stream);
}

TEST(RequestParser, ReadsInlineCommands) {
  const struct {
    std::string stream;
    std::string expected;
  } rows[] = {
      {"PING\r\n", "\"PING\" \n"},
      {"PING\n", "\"PING\" \n"},
      {"\r\n", "\n"},
      {"\n", "\n"},
      {"   \r\n", "\n"},
      {"  take\tapi   alice \r\n", "\"take\" \"api\" \"alice\" \n"},
      {"PING\r\n*1\r\n$4\r\nPING\r\nPING\n", "\"PING\" \n\"PING\" \n\"PING\" \n"},
      {R"(a "b c" 'd e')"
       "\r\n",
       R"("a" "b c" "d e" )"
       "\n"},
      {R"("\x41\n\r\t\b\a\\\"\q" "")"
       "\r\n",
       R"("A\n\r\t\x08\x07\\\"q" "" )"
       "\n"},
      {R"("\x4" "\xzz")"
       "\r\n",
       R"("x4" "xzz" )"
       "\n"},
      {R"('a\'b\n')"
       "\r\n",
       R"("a'b\\n" )"
       "\n"},
      {R"(SET ke"y 1" 5)"
       "\r\n",
       R"("SET" "key 1" "5" )"
       "\n"},
      {"a\0b c\r\n"s, "\"a\\x00b\" \"c\" \n"},
      {"$4\r\n", "\"$4\" \n"},
      {"a\rb\r\n", "\"a\" \"b\" \n"},
      {"PING", "more"},
      {"PING\r", "more"},
      {"\"PING\r\n", "error: unbalanced quotes in request"},
      {"'PING\r\n", "error: unbalanced quotes in request"},
      {"\"PING\\\"\r\n", "error: unbalanced quotes in request"},
      {"\"PING\"x\r\n", "error: unbalanced quotes in request"},
      {"PI\"NG\r\n", "error: unbalanced quotes in request"},
  };
  for (const auto& row : rows) EXPECT_EQ(parsed_every_way(row.stream), row.expected) << quote(row.stream);
}

TEST(RequestParser, RefusesWhatIsBad) {
  const struct {
    std::string stream;
    std::string expected;
  } rows[] = {
      {"*2147483648\r\n", "invalid multibulk length"},
      {"*1048577\r\n", "invalid multibulk length"},
      {"*-2\r\n", "invalid multibulk length"},
      {"*\r\n", "invalid multibulk length"},
      {"*x\r\n", "invalid multibulk length"},
      {"* 1\r\n", "invalid multibulk length"},
      {"*+1\r\n", "invalid multibulk length"},
      {"*01\r\n", "invalid multibulk length"},
      {"*-0\r\n", "invalid multibulk length"},
      {"*99999999999999999999999\r\n", "invalid multibulk length"},
      {"*" + std::string(100, '1'), "invalid multibulk length"},
      {"*1\n", "expected CRLF after a length"},
      {"*1\rx", "expected CRLF after a length"},
      {"*1\r\n$-5\r\n", "invalid bulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
      {"*1\r\n$9223372036854775808\r\n", "invalid bulk length"},
      {"*1\r\n$1048577\r\n", "invalid bulk length"},
      {"*1\r\n$+5\r\nabcde\r\n", "invalid bulk length"},
      {"*1\r\n$05\r\nabcde\r\n", "invalid bulk length"},
      {"*1\r\n$00\r\n\r\n", "invalid bulk length"},
      {"*1\r\n$ 5\r\nabcde\r\n", "invalid bulk length"},
      {"*1\r\n$5 \r\nabcde\r\n", "invalid bulk length"},
      {"*1\r\n$\r\n\r\n", "invalid bulk length"},
      {"*1\r\n$5\nabcde\n", "expected CRLF after a length"},
      {"*1\r\n$5\r\nabcdeXY", "expected CRLF after a bulk string"},
      {"*1\r\n$5\r\nabcde\n\n", "expected CRLF after a bulk string"},
      {"*1\r\n$3\r\nabcde\r\n", "expected CRLF after a bulk string"},
      {"*1\r\nPING\r\n", "expected '$', got 'P'"},
      {"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"},
      {"*1\r\n\r\n", "expected '$', got '\\r'"},
      {"*2\r\n$1\r\na\r\n:5\r\n", "expected '$', got ':'"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(parsed_every_way(row.stream), "error: " + row.expected) << quote(row.stream);
  }
}

TEST(RequestParser, KeepsToItsLimits) {
  const auto words = [](std::size_t count) {
    std::string text = "*" + std::to_string(count) + "\r\n";
    for (std::size_t index = 0; index < count; ++index) text += "$1\r\na\r\n";
    return text;
  };
  const RequestLimits limits = {.arguments_max = 3, .bulk_bytes_max = 5, .inline_bytes_max = 8};
  const struct {
    std::string stream;
    std::string expected;
  } rows[] = {
      {words(3), "\"a\" \"a\" \"a\" \n"},
      {words(4), "error: invalid multibulk length"},
      {"*1\r\n$5\r\nabcde\r\n", "\"abcde\" \n"},
      {"12345678\n", "\"12345678\" \n"},
      {"123456789\n", "error: too big inline request"},
      {"123456789", "error: too big inline request"},
      {"a a a\r\n", "\"a\" \"a\" \"a\" \n"},
      {"a a a a\n", "error: too many words in an inline request"},
  };
  for (const auto& row : rows) EXPECT_EQ(parsed_every_way(row.stream, limits), row.expected) << quote(row.stream);

  const struct {
    std::string stream;
    std::string expected;
  } before_authentication[] = {
      {"*11\r\n", "error: unauthenticated multibulk length"},
      {"*1\r\n$4097\r\n", "error: unauthenticated bulk length"},
      {"*1\r\n$4096\r\n", "more"},
      {"AUTH secret\r\n", "\"AUTH\" \"secret\" \n"},
  };
  for (const auto& row : before_authentication) {
    EXPECT_EQ(parsed_every_way(row.stream, kUnauthenticatedLimits), row.expected) << quote(row.stream);
  }
}

TEST(RequestParser, RefusesAnInlineLineThatDoesNotEnd) {
  const std::string line(65'536, 'x');
  RequestParser parser({});
  EXPECT_EQ(parser.parse(std::string_view(line).substr(0, 65'535)), Status::kNeedMore);
  EXPECT_EQ(parser.parse(line), Status::kError);
  EXPECT_EQ(parser.error(), "too big inline request");
}

// A length that fits the short way must be judged by the limits as well.
TEST(RequestParser, JudgesTheUsualRequestByTheLimitsToo) {
  RequestParser parser({.arguments_max = 10, .bulk_bytes_max = 5, .inline_bytes_max = 8});
  EXPECT_EQ(parser.parse("*1\r\n$6\r\nabcdef\r\n"), Status::kError);
  EXPECT_EQ(parser.error(), "invalid bulk length");
}

// Those of usual length, and what is one word or one byte too much for it.
TEST(UsualRequest, HasUpToSixteenWords) {
  for (int count = 1; count <= 20; ++count) {
    std::string stream = "*" + std::to_string(count) + "\r\n";
    for (int i = 0; i < count; ++i) stream += "$1\r\nx\r\n";
    UsualRequest request;
    EXPECT_EQ(request.read(stream + "*1"), count <= 16) << count;
    if (count > 16) continue;
    EXPECT_EQ(request.words().size(), static_cast<std::size_t>(count));
    EXPECT_EQ(request.consumed, stream.size());
    EXPECT_FALSE(request.read(stream.substr(0, stream.size() - 1))) << count;
  }
  for (const std::string_view stream :
       {"*0\r\n", "*01\r\n$1\r\nx\r\n", "*1x\r\n$1\r\nx\r\n", "*1", "*10\r", "*-1\r\n"}) {
    UsualRequest request;
    EXPECT_FALSE(request.read(stream)) << quote(stream);
  }
}

TEST(RequestParser, TellsWhetherARequestHasBegun) {
  RequestParser parser({});
  EXPECT_FALSE(parser.is_within_request());
  EXPECT_EQ(parser.parse("*2\r\n$1\r\na\r\n"), Status::kNeedMore);
  EXPECT_TRUE(parser.is_within_request());
  EXPECT_EQ(parser.parse("*2\r\n$1\r\na\r\n$1\r\nb\r\n"), Status::kRequest);
  EXPECT_FALSE(parser.is_within_request());
}

// New limits hold from the next length on: a client may authenticate and send more behind it.
TEST(RequestParser, ItsLimitsCanBeRaisedBetweenRequests) {
  RequestParser parser(kUnauthenticatedLimits);
  EXPECT_EQ(parser.parse("*1\r\n$1\r\na\r\n"), Status::kRequest);
  parser.set_limits({});
  EXPECT_EQ(parser.parse("*11\r\n"), Status::kNeedMore);
}

// A connection that has asked for much once does not keep the memory of it.
TEST(RequestParser, GivesTheMemoryOfManyWordsBack) {
  const auto request = [](std::size_t words) {
    std::string text = "*" + std::to_string(words) + "\r\n";
    for (std::size_t i = 0; i < words; ++i) text += "$1\r\na\r\n";
    return text;
  };
  RequestParser parser({});
  EXPECT_EQ(parser.parse(request(10'000)), Status::kRequest);
  EXPECT_GE(parser.buffered_bytes(), 10'000 * sizeof(std::string_view));
  parser.release_words();
  EXPECT_LE(parser.buffered_bytes(), 4'096U);
  const std::string next = request(2);
  EXPECT_EQ(parser.parse(next), Status::kRequest);
  EXPECT_EQ(parser.words().size(), 2U);
}

// Pieces of requests put together at random: however they are cut, the same.
TEST(RequestParser, CutAnywhereItFindsTheSame) {
  const std::vector<std::string> pieces = {
      "*1\r\n",   "*2\r\n", "*3\r\n", "$1\r\na\r\n", "$0\r\n\r\n", "$12\r\nabcdefghijkl\r\n",
      "PING\r\n", "\r\n",   "\n",     "$",           "*",          "5\r\n",
      "\"a b\"",  "'",      " ",      "\r",          "x"};
  std::mt19937_64 random(4);
  const RequestLimits limits = {.arguments_max = 4, .bulk_bytes_max = 20, .inline_bytes_max = 16};
  for (int round = 0; round < 3'000; ++round) {
    std::string stream;
    for (std::size_t left = random() % 9; left > 0; --left) stream += pieces[random() % pieces.size()];
    parsed_every_way(stream, limits);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace mete::wire
