#include "lab/bench/http_skimmer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace mete::lab {
namespace {

const std::string kBytes =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\n{\"a\"}\n"
    "HTTP/1.1 429 Too Many Requests\r\ncontent-length:2\r\n\r\n{}"
    "HTTP/1.1 204 No Content\r\n\r\n"
    "HTTP/1.1 404 Not Found\r\nCONTENT-LENGTH: 0\r\nRetry-After: 1\r\n\r\n";
const std::vector<std::string> kSeen = {"allowed", "denied", "allowed", "HTTP/1.1 404 Not Found"};

TEST(HttpSkimmerTest, SeesEveryResponseInPiecesOfAnySize) {
  for (std::size_t size = 1; size <= kBytes.size(); ++size) {
    HttpSkimmer skimmer;
    std::vector<std::string> seen;
    std::size_t used = 0;
    for (std::size_t given = 0; given < kBytes.size();) {
      given = std::min(given + size, kBytes.size());
      const auto skimmed =
          skimmer.skim(std::string_view(kBytes).substr(used, given - used), [&](const wire::SkimmedReply& reply) {
            seen.emplace_back(reply.is_error ? reply.error : reply.integer == 0 ? "denied" : "allowed");
          });
      ASSERT_TRUE(skimmed) << skimmed.error().message;
      used += *skimmed;
    }
    EXPECT_EQ(seen, kSeen) << "in pieces of " << size;
    EXPECT_EQ(used, kBytes.size());
  }
}

TEST(HttpSkimmerTest, SaysWhatIsWrong) {
  struct Row {
    std::string bytes;
    std::string_view reason;
  };
  const Row rows[] = {
      {"-ERR unknown command\r\n\r\n", "not HTTP/1.1"},
      {"HTTP/1.1 OK\r\n\r\n", "not HTTP/1.1"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "it does not tell its Content-Length"},
      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "it does not tell its Content-Length"},
      {"HTTP/1.1 200 OK\r\n" + std::string(HttpSkimmer::kHeadBytesMax, 'x'), "its head does not end"},
  };
  for (const Row& row : rows) {
    HttpSkimmer skimmer;
    const auto skimmed = skimmer.skim(row.bytes, [](const wire::SkimmedReply&) { FAIL(); });
    ASSERT_FALSE(skimmed) << row.bytes;
    EXPECT_NE(skimmed.error().message.find(row.reason), std::string::npos) << skimmed.error().message;
  }
}

}  // namespace
}  // namespace mete::lab
