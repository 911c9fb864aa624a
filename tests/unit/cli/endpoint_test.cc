#include "cli/client/endpoint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace mete::cli {
namespace {

TEST(EndpointTest, ParsesAndPrints) {
  struct Row {
    std::string text;
    Endpoint endpoint;
    bool is_local;
  };
  const Row rows[] = {
      {"127.0.0.1:6380", {.host = "127.0.0.1", .port = 6380}, true},
      {"localhost:1", {.host = "localhost", .port = 1}, true},
      {"mete.example.org:65535", {.host = "mete.example.org", .port = 65535}, false},
      {"[::1]:6380", {.host = "::1", .port = 6380}, true},
      {"[2001:db8::7]:6380", {.host = "2001:db8::7", .port = 6380}, false},
      {"unix:/run/mete.sock", {.path = "/run/mete.sock"}, true},
  };
  for (const Row& row : rows) {
    const auto endpoint = parse_endpoint(row.text);
    ASSERT_TRUE(endpoint) << row.text;
    EXPECT_EQ(*endpoint, row.endpoint) << row.text;
    EXPECT_EQ(endpoint->to_string(), row.text);
    EXPECT_EQ(endpoint->is_local(), row.is_local) << row.text;
  }
}

TEST(EndpointTest, SaysWhatIsWrong) {
  struct Row {
    std::string text;
    std::string_view reason;
  };
  const Row rows[] = {
      {"", "the port is missing"},
      {"localhost", "the port is missing"},
      {":6380", "the host is missing"},
      {"[]:6380", "the host is missing"},
      {"localhost:", "the port is not a number from 1 to 65535"},
      {"localhost:0", "the port is not a number from 1 to 65535"},
      {"localhost:65536", "the port is not a number from 1 to 65535"},
      {"localhost:http", "the port is not a number from 1 to 65535"},
      {"::1:6380", "an IPv6 address stands in brackets"},
      {"unix:", "the path is empty"},
      {"unix:/" + std::string(107, 'x'), "the path is longer than 107 bytes"},
  };
  for (const Row& row : rows) {
    const auto endpoint = parse_endpoint(row.text);
    ASSERT_FALSE(endpoint) << row.text;
    EXPECT_NE(endpoint.error().message.find(row.reason), std::string::npos) << endpoint.error().message;
  }
}

}  // namespace
}  // namespace mete::cli
