#include "net/address.h"

#include <gtest/gtest.h>

namespace mete::net {
namespace {

TEST(Address, IsReadAndKnowsWhoCanReachIt) {
  const struct {
    std::string_view text;
    Address expected;
    bool is_local;
  } rows[] = {
      {"127.0.0.1:6380", {"127.0.0.1", 6380, ""}, true},
      {"127.8.9.10:1", {"127.8.9.10", 1, ""}, true},
      {"0.0.0.0:0", {"0.0.0.0", 0, ""}, false},
      {"192.168.1.1:65535", {"192.168.1.1", 65535, ""}, false},
      {"[::1]:6380", {"::1", 6380, ""}, true},
      {"[::]:6380", {"::", 6380, ""}, false},
      {"[::ffff:127.0.0.1]:6380", {"::ffff:127.0.0.1", 6380, ""}, false},
      {"localhost:80", {"localhost", 80, ""}, true},
      {"LocalHost:80", {"LocalHost", 80, ""}, true},
      {"mete.example:80", {"mete.example", 80, ""}, false},
      {"127.evil.example:80", {"127.evil.example", 80, ""}, false},
      {"unix:/run/mete.sock", {"", 0, "/run/mete.sock"}, true},
      {"unix:relative:with:colons", {"", 0, "relative:with:colons"}, true},
  };
  for (const auto& row : rows) {
    const auto address = parse_address(row.text);
    ASSERT_TRUE(address.has_value()) << row.text << ": " << address.error().message;
    EXPECT_EQ(*address, row.expected) << row.text;
    EXPECT_EQ(address->is_local(), row.is_local) << row.text;
  }
}

TEST(Address, IsRefusedWithAReason) {
  const std::string long_path = "unix:/" + std::string(kSocketPathBytesMax, 'x');
  const std::string long_host = std::string(kHostBytesMax + 1, 'x') + ":1";
  const struct {
    std::string_view text;
    std::string_view reason;
  } rows[] = {
      {"", "port is missing"},
      {"127.0.0.1", "port is missing"},
      {"[::1]", "port is missing"},
      {"6380", "port is missing"},
      {"127.0.0.1:", "0 to 65535"},
      {"127.0.0.1:65536", "0 to 65535"},
      {"127.0.0.1:-1", "0 to 65535"},
      {"127.0.0.1:+1", "0 to 65535"},
      {"127.0.0.1:01", "0 to 65535"},
      {"127.0.0.1:http", "0 to 65535"},
      {":6380", "host is missing"},
      {"*:6380", "no name of a host"},
      {"a b:6380", "no name of a host"},
      {long_host, "no name of a host"},
      {"::1:6380", "needs brackets"},
      {"[127.0.0.1]:6380", "no IPv6"},
      {"[]:6380", "no IPv6"},
      {"[:6380", "no name of a host"},
      {"127.0.0.300:6380", "no IPv4"},
      {"127.1:6380", "no IPv4"},
      {"unix:", "path is missing"},
      {long_path, "at most 107"},
      {"a:1,b:2", "neither commas"},
      {std::string_view("unix:/a\0b", 9), "control characters"},
  };
  for (const auto& row : rows) {
    const auto address = parse_address(row.text);
    ASSERT_FALSE(address.has_value()) << row.text;
    EXPECT_NE(address.error().message.find(row.reason), std::string::npos)
        << row.text << ": " << address.error().message;
  }
}

}  // namespace
}  // namespace mete::net
