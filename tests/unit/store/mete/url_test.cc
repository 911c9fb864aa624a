#include "store/mete/url.h"

#include <gtest/gtest.h>

#include <string>

namespace mete::store::servers {
namespace {

using namespace std::chrono_literals;

std::string describe(const ServerUrl& url) {
  std::string text;
  for (const net::Address& host : url.hosts) text += host.to_string() + " ";
  return text + url.credentials.user + "/" + url.credentials.password + (url.has_tls ? " tls" : "");
}

TEST(PeersUrl, SaysWhereAndHow) {
  const struct {
    std::string_view url;
    std::string_view meaning;
  } rows[] = {
      {"mete://localhost", "localhost:6380 /"},       {"mete://localhost:7000", "localhost:7000 /"},
      {"mete://[::1]:7,b", "[::1]:7 b:6380 /"},       {"mete://:pass@a:1,b:1,c:1", "a:1 b:1 c:1 /pass"},
      {"mete://us%40er:p%2Fa@a", "a:6380 us@er/p/a"}, {"metes://a", "a:6380 / tls"},
  };
  for (const auto& row : rows) {
    const auto url = parse_url(row.url);
    ASSERT_TRUE(url) << row.url << ": " << url.error().message;
    EXPECT_EQ(describe(*url), row.meaning);
    EXPECT_TRUE(is_mete_url(row.url));
  }
}

TEST(PeersUrl, HasParameters) {
  EXPECT_EQ(parse_url("mete://host").value().timeout, Duration(250ms));
  const auto url = parse_url("metes://host?timeout=2s&ca=/a%20b&cert=/c&key=/k&verify=no");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->timeout, Duration(2s));
  EXPECT_EQ(url->tls.ca, "/a b");
  EXPECT_EQ(url->tls.certificate, "/c");
  EXPECT_EQ(url->tls.key, "/k");
  EXPECT_FALSE(url->tls.verify);
}

TEST(PeersUrl, SaysWhatIsWrongAndShowsNoPassword) {
  const struct {
    std::string_view url;
    std::string_view reason;
  } rows[] = {
      {"", "it begins with mete://"},
      {"mete:host", "it begins with mete://"},
      {"redis://host", "it begins with mete://"},
      {"mete://", "a host is missing"},
      {"mete://a,,b", "a host is missing"},
      {"mete://SECRET@host", "'user:password'"},
      {"mete://:SEC/RET@host", "written %2F"},
      {"mete://:SECRET@host:0", "a port is 1 to 65535"},
      {"mete://a:1,b:1,a:1", "a:1 stands there twice"},
      {"mete://a,a:6380", "a:6380 stands there twice"},
      {"mete://unix:/run/mete.sock", "unix:"},
      {"mete://host/0", "nothing but parameters"},
      {"mete://:SECRET@host?time=1s", "no parameter \"time\""},
      {"mete://host?timeout=", "has no value"},
      {"mete://host?timeout=0", "timeout is 1ms to 1m"},
      {"mete://host?ca=/a", "needs TLS"},
      {"metes://host?verify=maybe", "verify is yes or no"},
  };
  for (const auto& row : rows) {
    const auto url = parse_url(row.url);
    ASSERT_FALSE(url) << row.url;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalid);
    EXPECT_NE(url.error().message.find(row.reason), std::string::npos) << row.url << ": " << url.error().message;
    for (const std::string_view part : {"SEC", "RET"}) {
      EXPECT_EQ(url.error().message.find(part), std::string::npos) << row.url << ": " << url.error().message;
    }
  }
}

}  // namespace
}  // namespace mete::store::servers
