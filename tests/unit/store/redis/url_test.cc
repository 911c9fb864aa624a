#include "store/redis/client/url.h"

#include <gtest/gtest.h>

#include <string>

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;

std::string describe(const Url& url) {
  std::string text;
  for (const net::Address& host : url.hosts) text += host.to_string() + " ";
  text += url.shape == Shape::kServer ? "server" : url.shape == Shape::kCluster ? "cluster" : "of " + url.master_name;
  text += " db" + std::to_string(url.database) + " " + url.credentials.user + "/" + url.credentials.password;
  text += url.has_tls ? " tls" : "";
  return text;
}

TEST(RedisUrl, SaysWhereAndHow) {
  const struct {
    std::string_view url;
    std::string_view meaning;
  } rows[] = {
      {"redis://localhost", "localhost:6379 server db0 /"},
      {"redis://localhost:1234/7", "localhost:1234 server db7 /"},
      {"redis://[::1]", "[::1]:6379 server db0 /"},
      {"redis://[::1]:7/", "[::1]:7 server db0 /"},
      {"redis://:pass@host", "host:6379 server db0 /pass"},
      {"redis://user:pass@host", "host:6379 server db0 user/pass"},
      {"redis://us%40er:p%2Fa%3As%25s+@host", "host:6379 server db0 us@er/p/a:s%s+"},
      {"redis://user:p@ss@host", "host:6379 server db0 user/p@ss"},
      {"rediss://host", "host:6379 server db0 / tls"},
      {"redis+unix:///run/redis.sock", "unix:/run/redis.sock server db0 /"},
      {"redis+unix://:pass@/run/redis.sock", "unix:/run/redis.sock server db0 /pass"},
      {"redis+sentinel://a,b:1,[::1]:2/mymaster", "a:26379 b:1 [::1]:2 of mymaster db0 /"},
      {"rediss+sentinel://u:p@a/my%2Fmaster/3", "a:26379 of my/master db3 u/p tls"},
      {"redis+cluster://a,b:1", "a:6379 b:1 cluster db0 /"},
      {"rediss+cluster://a/0", "a:6379 cluster db0 / tls"},
  };
  for (const auto& row : rows) {
    const auto url = parse_url(row.url);
    ASSERT_TRUE(url) << row.url << ": " << url.error().message;
    EXPECT_EQ(describe(*url), row.meaning);
  }
}

TEST(RedisUrl, HasParameters) {
  const auto plain = parse_url("redis://host");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->timeout, Duration(250ms));
  EXPECT_TRUE(plain->tls.verify);
  const auto url = parse_url(
      "rediss+sentinel://host/name?timeout=2s&ca=/a%20b&cert=/c&key=/"
      "k&verify=no&sentinel_user=su&sentinel_password=s%2Fp");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->timeout, Duration(2s));
  EXPECT_EQ(url->tls.ca, "/a b");
  EXPECT_EQ(url->tls.certificate, "/c");
  EXPECT_EQ(url->tls.key, "/k");
  EXPECT_FALSE(url->tls.verify);
  EXPECT_EQ(url->sentinel_credentials, (Credentials{.user = "su", .password = "s/p"}));
}

// Whatever is wrong, and wherever the password ends up by that: it is not shown.
TEST(RedisUrl, SaysWhatIsWrongAndShowsNoPassword) {
  const struct {
    std::string_view url;
    std::string_view reason;
  } rows[] = {
      {"", "it begins with redis://"},
      {"redis:host", "it begins with redis://"},
      {"http://host", "it begins with redis://"},
      {"redis://", "a host is missing"},
      {"redis://user:SECRET@", "a host is missing"},
      {"redis://SECRET@host", "'user:password'"},
      {"redis://user:@host", "the password is empty"},
      {"redis://user:SEC%RET@host", "written %25"},
      {"redis://user:SEC/RET@host", "written %2F"},
      {"redis://user:SEC?RET@host", "written %2F"},
      {"redis://:SECRET@host:0", "a port is 1 to 65535"},
      {"redis://:SECRET@host:x", "is no address"},
      {"redis://:SECRET@a,b", "one host only"},
      {"redis://unix:/a", "redis+unix:///path"},
      {"redis+unix://run/redis.sock", "three slashes"},
      {"redis+unix:///", "the path of the Unix socket is missing"},
      {"redis://host/x", "the database is a number"},
      {"redis://host/-1", "the database is a number"},
      {"redis://host/1/2", "the database is a number"},
      {"redis+cluster://host/1", "the database 0 alone"},
      {"redis+sentinel://host", "the name of the master is missing"},
      {"redis+sentinel://host/", "the name of the master is missing"},
      {"redis+sentinel://host,/name", "a host is missing"},
      {"redis://:SECRET@host?time=1s", "no parameter \"time\""},
      {"redis://host?timeout=x", "timeout: "},
      {"redis://host?timeout=0", "timeout is 1ms to 1m"},
      {"redis://host?timeout=61s", "timeout is 1ms to 1m"},
      {"redis://host?timeout=", "has no value"},
      {"redis://host?timeout=1s&timeout=2s", "name=value"},
      {"redis://host?ca=/a", "needs TLS"},
      {"rediss://host?verify=maybe", "verify is yes or no"},
      {"redis://host?sentinel_password=SECRET", "for redis+sentinel:// alone"},
      {"redis+sentinel://host/name?sentinel_user=u", "needs sentinel_password"},
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

TEST(RedisUrl, HasAtMostSoManyHosts) {
  std::string url = "redis+cluster://a";
  for (std::size_t i = 1; i < kUrlHostsMax; ++i) url += ",a";
  EXPECT_TRUE(parse_url(url));
  EXPECT_FALSE(parse_url(url + ",a"));
}

}  // namespace
}  // namespace mete::store::redis
