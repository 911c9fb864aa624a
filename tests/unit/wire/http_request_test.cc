// Requests as tables: what is taken, what is refused and with which status; each of them whole, cut in two at every
// byte, and byte by byte, with the same outcome.
#include "wire/http_request.h"

#include <gtest/gtest.h>

#include "unit/wire/repeated.h"
#include "wire/text.h"

namespace mete::wire {
namespace {

using namespace std::string_view_literals;
using Outcome = HttpRequestParser::Outcome;

constexpr HttpLimits kSmallBodies{.body_bytes_max = 16};

// What a parser came to, as text that can be compared.
std::string summary(const HttpRequestParser& parser, Outcome outcome) {
  if (outcome == Outcome::kNeedsMore) return "needs more";
  if (outcome == Outcome::kFailed) return std::to_string(parser.failure().status) + " " + parser.failure().reason;
  const HttpRequest& request = parser.request();
  std::string text = std::string(request.method) + " " + std::string(request.target) + " 1." +
                     std::to_string(request.minor_version) + (request.keeps_alive ? " stays" : " closes");
  for (const HttpHeader& header : request.headers) {
    text += " [" + std::string(header.name) + "=" + std::string(header.value) + "]";
  }
  return text + " " + quote(request.body, 1000) + " of " + std::to_string(parser.consumed());
}

std::string parse_whole(std::string_view input, const HttpLimits& limits) {
  HttpRequestParser parser(limits);
  return summary(parser, parser.parse(input));
}

// Each call gets a buffer of its own, so that a view into an old one would be noticed.
std::string parse_in_pieces(std::string_view input, std::size_t first, std::size_t step, const HttpLimits& limits) {
  HttpRequestParser parser(limits);
  std::string buffer;
  for (std::size_t size = first;; size += step) {
    buffer = std::string(input.substr(0, size));
    const Outcome outcome = parser.parse(buffer);
    if (outcome != Outcome::kNeedsMore || size >= input.size()) return summary(parser, outcome);
  }
}

// The outcome of parsing `input`, having made sure that it is the same in whatever pieces.
std::string parse(std::string_view input, const HttpLimits& limits = kSmallBodies) {
  std::string whole = parse_whole(input, limits);
  EXPECT_EQ(parse_in_pieces(input, 0, 1, limits), whole) << "byte by byte";
  const std::size_t stride = input.size() < 2000 ? 1 : 97;
  for (std::size_t cut = 0; cut < input.size(); cut += stride) {
    EXPECT_EQ(parse_in_pieces(input, cut, input.size(), limits), whole) << "cut at " << cut;
    if (::testing::Test::HasFailure()) break;
  }
  return whole;
}

TEST(HttpRequest, IsReadInAnyPieces) {
  const struct {
    std::string_view input;
    std::string_view request;
  } rows[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 stays [Host=a] \"\" of 27"},
      {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 stays [Host=a] \"\" of 29"},
      {"\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 stays [Host=a] \"\" of 35"},
      {"GET /a?b=c HTTP/1.1\r\nhOST:\t a:1 \t\r\nX-Y:\r\n\r\n", "GET /a?b=c 1.1 stays [hOST=a:1] [X-Y=] \"\" of 43"},
      {"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 closes \"\" of 18"},
      {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / 1.0 stays [Connection=Keep-Alive] \"\" of 42"},
      {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
       "GET / 1.0 closes [Connection=keep-alive, close] \"\" of 49"},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE ,\r\n\r\n",
       "GET / 1.1 closes [Host=a] [Connection=x, CLOSE ,] \"\" of 51"},
      {"M-SEARCH * HTTP/1.1\r\nHost:\r\n\r\n", "M-SEARCH * 1.1 stays [Host=] \"\" of 30"},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: \xC3\xA4\xFF\r\n\r\n", "GET / 1.1 stays [Host=a] [X=\xC3\xA4\xFF] \"\" of 35"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
       "PUT / 1.1 stays [Host=a] [Content-Length=0] \"\" of 46"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab\r\nc",
       R"(PUT / 1.1 stays [Host=a] [Content-Length=5] "ab\r\nc" of 51)"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nabGET /",
       "PUT / 1.1 stays [Host=a] [Content-Length=2] \"ab\" of 48"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na", "needs more"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
       "PUT / 1.1 stays [Host=a] [Transfer-Encoding=Chunked] \"\" of 60"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
       "chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\nz",
       "PUT / 1.1 stays [Host=a] [Transfer-Encoding=chunked] \"abc0123456789\" of 97"},
      {"", "needs more"},
      {"\r", "needs more"},
      {"\r\n", "needs more"},
      {"GET", "needs more"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\r", "needs more"},
      {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r", "needs more"},
  };
  for (const auto& row : rows) EXPECT_EQ(parse(row.input), row.request) << quote(row.input, 1000);
}

// Each is put between a request line and the rest of a request.
TEST(HttpRequest, RefusesBadHeaders) {
  const struct {
    std::string_view headers;
    int status;
    std::string_view reason;
  } rows[] = {
      {"", 400, "needs a Host"},
      {"Host: a\r\nHost: a\r\n", 400, "two Host"},
      {"Host: a\r\nhost: b\r\n", 400, "two Host"},
      {"Host: a b\r\n", 400, "not a host name"},
      {"Host: a,b\r\n", 400, "not a host name"},
      {"Host: user@a\r\n", 400, "not a host name"},
      {"Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n", 400, "two Content-Length"},
      {"Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", 400, "two Content-Length"},
      {"Host: a\r\nContent-Length: 1, 1\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: +5\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: -5\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: -0\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 0x5\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 05\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length:\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 1 1\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 5.0\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 9223372036854775808\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 18446744073709551617\r\n", 400, "not a number of bytes"},
      {"Host: a\r\nContent-Length: 17\r\n", 413, "at most 16 bytes"},
      {"Host: a\r\nContent-Length: 9223372036854775807\r\n", 413, "at most 16 bytes"},
      {"Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400, "both"},
      {"Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n", 400, "both"},
      {"Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400, "two Transfer-Encoding"},
      {"Host: a\r\nTransfer-Encoding:\r\n", 400, "empty Transfer-Encoding"},
      {"Host: a\r\nTransfer-Encoding: gzip\r\n", 501, "gzip"},
      {"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "gzip, chunked"},
      {"Host: a\r\nTransfer-Encoding: chunked, chunked\r\n", 501, "chunked"},
      {"Host: a\r\nTransfer-Encoding: identity\r\n", 501, "identity"},
      {"Host: a\r\nTransfer-Encoding: xchunked\r\n", 501, "xchunked"},
      {"Host: a\r\nTransfer-Encoding: \"chunked\"\r\n", 501, "chunked"},
      {"Host: a\r\nExpect: 200-ok\r\n", 417, "100-continue"},
      {"Host: a\r\nX: y\r\n folded\r\n", 400, "goes on in the next line"},
      {"Host: a\r\nX: y\r\n\tfolded\r\n", 400, "goes on in the next line"},
      {" Host: a\r\n", 400, "goes on in the next line"},
      {"Host: a\nX: y\r\n", 400, "does not end in CR LF"},
      {"Host: a\r\nX: y\n\n", 400, "does not end in CR LF"},
      {"Host: a\r\n\n", 400, "does not end in CR LF"},
      {"Host: a\r\nX: y\rz\r\n", 400, "control character"},
      {"Host: a\r\nX: y\r\r\n", 400, "control character"},
      {"Host: a\r\n\rX: y\r\n", 400, "not a token"},
      {"Host: a\r\nX: y\0z\r\n"sv, 400, "control character"},
      {"Host: a\r\nX\0Y: z\r\n"sv, 400, "not a token"},
      {"Host: a\r\nX: y\x7f\r\n", 400, "control character"},
      {"Host : a\r\n", 400, "not a token"},
      {"Host: a\r\nX Y: z\r\n", 400, "not a token"},
      {"Host: a\r\n: z\r\n", 400, "not a token"},
      {"Host: a\r\nX\xC3\xA4: z\r\n", 400, "not a token"},
      {"Host: a\r\nX\r\n", 400, "without ':'"},
  };
  for (const auto& row : rows) {
    const std::string outcome = parse("POST / HTTP/1.1\r\n" + std::string(row.headers) + "\r\n");
    EXPECT_EQ(outcome.substr(0, 4), std::to_string(row.status) + " ") << quote(row.headers, 1000) << ": " << outcome;
    EXPECT_NE(outcome.find(row.reason), std::string::npos) << quote(row.headers, 1000) << ": " << outcome;
  }
}

TEST(HttpRequest, RefusesBadRequestLines) {
  const struct {
    std::string_view line;
    int status;
  } rows[] = {
      {"GET /", 400},
      {"GET", 400},
      {"GET  / HTTP/1.1", 400},
      {"GET /  HTTP/1.1", 400},
      {"GET / HTTP/1.1 ", 400},
      {"GET  HTTP/1.1", 400},
      {"GET /a b HTTP/1.1", 400},
      {"GET\t/\tHTTP/1.1", 400},
      {" GET / HTTP/1.1", 400},
      {"\nGET / HTTP/1.1", 400},
      {"\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1", 400},
      {"\r\n\nGET / HTTP/1.1", 400},
      {"\rGET / HTTP/1.1", 400},
      {"G(T / HTTP/1.1", 400},
      {"G\0T / HTTP/1.1"sv, 400},
      {"GET /\0 HTTP/1.1"sv, 400},
      {"GET /\x7f HTTP/1.1", 400},
      {"GET /\xC3\xA4 HTTP/1.1", 400},
      {"GET /a#b HTTP/1.1", 400},
      {"GET /\r HTTP/1.1", 400},
      {"GET / http/1.1", 400},
      {"GET / HTTP/1", 400},
      {"GET / HTTP/1.10", 400},
      {"GET / HTTP/11.1", 400},
      {"GET / HTTP/1,1", 400},
      {"GET / HTTP/x.1", 400},
      {"GET / HTTPS/1.1", 400},
      {"GET / HTTP/0.9", 505},
      {"GET / HTTP/1.2", 505},
      {"GET / HTTP/2.0", 505},
      {"PRI * HTTP/2.0", 505},
      {"\x16\x03\x01\x02", 400},
      {"*1", 400},
      {"{}", 400},
  };
  for (const auto& row : rows) {
    const std::string outcome = parse(std::string(row.line) + "\r\nHost: a\r\n\r\n");
    EXPECT_EQ(outcome.substr(0, 4), std::to_string(row.status) + " ") << quote(row.line) << ": " << outcome;
  }
  EXPECT_EQ(parse("GET / HTTP/1.1\nHost: a\n\n").substr(0, 4), "400 ");
  EXPECT_EQ(parse("\x16\x03\x01").substr(0, 4), "400 ") << "told at once: a TLS handshake may have no line end";
}

TEST(HttpRequest, RefusesBadChunks) {
  const struct {
    std::string_view chunks;
    int status;
    std::string_view reason;
  } rows[] = {
      {"x\r\n", 400, "not a hexadecimal number"},
      {"\r\n", 400, "not a hexadecimal number"},
      {";x\r\n", 400, "not a hexadecimal number"},
      {"0x1\r\n", 400, "not a hexadecimal number"},
      {"+1\r\n", 400, "not a hexadecimal number"},
      {"-1\r\n", 400, "not a hexadecimal number"},
      {" 1\r\n", 400, "not a hexadecimal number"},
      {"1 \r\n", 400, "not a hexadecimal number"},
      {"1 ;x\r\n", 400, "not a hexadecimal number"},
      {"1,1\r\n", 400, "not a hexadecimal number"},
      {"10000000000000000\r\n", 400, "not a hexadecimal number"},
      {"ffffffffffffffff\r\n", 413, "at most 16"},
      {"7fffffffffffffff\r\n", 413, "at most 16"},
      {"11\r\n", 413, "at most 16"},
      {"f\r\n0123456789abcde\r\n2\r\n", 413, "at most 16"},
      {"1\nx", 400, "CR LF"},
      {"1\r\nxy\r\n", 400, "longer than its size"},
      {"1\r\nx\n", 400, "longer than its size"},
      {"1\r\nx\r\r", 400, "longer than its size"},
      {"1;x\0y\r\n"sv, 400, "control character"},
      {"1;x\ry\r\n", 400, "control character"},
      {"0\r\nX y: z\r\n\r\n", 400, "not a token"},
      {"0\r\nX\r\n\r\n", 400, "without ':'"},
      {"0\r\n folded\r\n\r\n", 400, "next line"},
      {"0\r\n\n", 400, "CR LF"},
  };
  for (const auto& row : rows) {
    const std::string outcome =
        parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(row.chunks));
    EXPECT_EQ(outcome.substr(0, 4), std::to_string(row.status) + " ") << quote(row.chunks) << ": " << outcome;
    EXPECT_NE(outcome.find(row.reason), std::string::npos) << quote(row.chunks) << ": " << outcome;
  }
}

TEST(HttpRequest, HasALimitForEveryLength) {
  const std::string line = "GET / HTTP/1.1\r\n";
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto line_of = [](std::size_t target) {
    return "GET /" + std::string(target - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  // "Host: a", the header "X", and the empty line make up the rest of the section.
  const auto section_of = [&](std::size_t bytes) {
    return line + "Host: a\r\nX: " + std::string(bytes - 16, 'x') + "\r\n\r\n";
  };
  const struct {
    std::string name;
    std::string input;
    std::string start;
  } rows[] = {
      {"a target of 8 KiB", line_of(kTargetBytesMax), "GET "},
      {"one byte more", line_of(kTargetBytesMax + 1), "414 "},
      {"a line without an end", "GET /" + std::string(2 * kTargetBytesMax, 'a'), "414 "},
      {"a method of 32 bytes", std::string(kMethodBytesMax, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n", "MMMM"},
      {"one byte more", std::string(kMethodBytesMax + 1, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n", "400 "},
      {"a header section of 16 KiB", section_of(kHeaderBytesMax), "GET "},
      {"one byte more", section_of(kHeaderBytesMax + 1), "431 "},
      {"a header without an end", line + "X: " + std::string(2 * kHeaderBytesMax, 'x'), "431 "},
      {"100 headers", line + "Host: a\r\n" + repeated("X: y\r\n", kHeadersMax - 1) + "\r\n", "GET "},
      {"one more", line + "Host: a\r\n" + repeated("X: y\r\n", kHeadersMax) + "\r\n", "431 "},
      {"a chunk line of 256 bytes", chunked + "1;" + std::string(kChunkLineBytesMax - 4, 'x') + "\r\n", "needs"},
      {"one byte more", chunked + "1;" + std::string(kChunkLineBytesMax - 3, 'x') + "\r\n", "400 "},
      {"a chunk line without an end", chunked + std::string(2 * kChunkLineBytesMax, '0'), "400 "},
      {"100 trailers", chunked + "0\r\n" + repeated("X: y\r\n", kHeadersMax) + "\r\n", "POST"},
      {"one more", chunked + "0\r\n" + repeated("X: y\r\n", kHeadersMax + 1) + "\r\n", "431 "},
      {"a trailer without an end", chunked + "0\r\nX: " + std::string(2 * kHeaderBytesMax, 'x'), "431 "},
  };
  for (const auto& row : rows) {
    const std::string outcome = parse(row.input);
    EXPECT_EQ(outcome.substr(0, row.start.size()), row.start) << row.name << ": " << outcome.substr(0, 200);
  }
}

TEST(HttpRequest, TinyChunksDoNotMakeALargeRequest) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "1;" + std::string(kChunkLineBytesMax - 4, 'x') + "\r\ny\r\n";
  const HttpLimits limits{.body_bytes_max = 10'000};
  const std::string outcome = parse_whole(head + repeated(chunk, 5'000), limits);
  EXPECT_EQ(outcome.substr(0, 4), "413 ") << "5000 bytes of body, 1.3 MB of extensions";
  EXPECT_EQ(parse_whole(head + repeated("1\r\ny\r\n", 5'000) + "0\r\n\r\n", limits).substr(0, 4), "POST");
}

TEST(HttpRequest, SaysWhenTheClientWaitsForAGoAhead) {
  const std::string head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n";
  for (const std::string& length :
       {std::string("Content-Length: 4\r\n\r\n"), std::string("Transfer-Encoding: chunked\r\n\r\n")}) {
    HttpRequestParser parser;
    EXPECT_EQ(parser.parse(head), Outcome::kNeedsMore);
    EXPECT_FALSE(parser.wants_continue()) << "the headers are not whole yet";
    EXPECT_EQ(parser.parse(head + length), Outcome::kNeedsMore);
    EXPECT_TRUE(parser.wants_continue());
    EXPECT_EQ(parser.parse(head + length + "1"), Outcome::kNeedsMore);
    EXPECT_FALSE(parser.wants_continue()) << "the client did not wait";
  }
  HttpRequestParser parser;
  EXPECT_EQ(parser.parse(head + "\r\n"), Outcome::kComplete);
  EXPECT_FALSE(parser.wants_continue()) << "there is no body";
  HttpRequestParser old;
  EXPECT_EQ(old.parse("PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"), Outcome::kNeedsMore);
  EXPECT_FALSE(old.wants_continue()) << "HTTP/1.0 knows no interim answers";
}

TEST(HttpRequest, ComesInPipelines) {
  const std::string input =
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy"
      "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n\r\n"
      "\r\nGET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  HttpRequestParser parser;
  std::string_view rest = input;
  std::string bodies;
  std::string targets;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(parser.is_idle());
    ASSERT_EQ(parser.parse(rest), Outcome::kComplete);
    targets += parser.request().target;
    bodies += parser.request().body;
    EXPECT_EQ(parser.request().keeps_alive, i < 2);
    rest.remove_prefix(parser.consumed());
    parser.reset();
  }
  EXPECT_EQ(targets, "/a/b/c");
  EXPECT_EQ(bodies, "xyz");
  EXPECT_TRUE(rest.empty());
}

TEST(HttpRequest, FindsHeadersInAnyCase) {
  HttpRequestParser parser;
  ASSERT_EQ(parser.parse("GET / HTTP/1.1\r\nHost: a\r\nX-Y: 1\r\nx-y: 2\r\n\r\n"), Outcome::kComplete);
  EXPECT_EQ(parser.request().header("x-Y"), "1");
  EXPECT_EQ(parser.request().header("host"), "a");
  EXPECT_EQ(parser.request().header("x"), std::nullopt);
}

}  // namespace
}  // namespace mete::wire
