#include "store/postgres/url.h"

#include <gtest/gtest.h>

#include <string>

namespace mete::store::postgres {
namespace {

using namespace std::chrono_literals;

std::string describe(const Url& url) {
  std::string text;
  const auto conninfo = parse_conninfo(url.libpq);
  if (!conninfo) return conninfo.error();
  for (const Host& host : conninfo->hosts) text += host.name + "/" + host.address + ":" + host.port + " ";
  return text + conninfo->options;
}

TEST(PostgresUrl, IsLibpqsButForTwoParameters) {
  const struct {
    std::string_view url;
    std::string_view libpq;
    Duration timeout = 1s;
    std::size_t pool = 16;
  } rows[] = {
      {"postgres://", "postgres://"},
      {"postgresql://host", "postgresql://host"},
      {"postgres://u:p%40%2F@host:1/db?timeout=20ms", "postgres://u:p%40%2F@host:1/db", 20ms},
      {"postgres://host/db?pool=1&sslmode=disable", "postgres://host/db?sslmode=disable", 1s, 1},
      {"postgres://host?sslmode=disable&timeout=1m&application_name=a%20b&pool=256",
       "postgres://host?sslmode=disable&application_name=a%20b", 1min, 256},
      {"postgres:///db?host=/run/postgresql&timeout=1ms", "postgres:///db?host=/run/postgresql", 1ms},
  };
  for (const auto& row : rows) {
    const auto url = parse_url(row.url);
    ASSERT_TRUE(url) << row.url << ": " << url.error().message;
    EXPECT_EQ(url->libpq, row.libpq);
    EXPECT_EQ(url->timeout, row.timeout) << row.url;
    EXPECT_EQ(url->pool, row.pool) << row.url;
  }
}

TEST(PostgresUrl, HasHosts) {
  const struct {
    std::string_view url;
    std::string_view meaning;
  } rows[] = {
      {"postgres:///db", ""},
      {"postgres://a", "a/:5432 "},
      {"postgres://u@a,b:1/db", "a/:5432 b/:1 "},
      {"postgres://[::1]:7,b", "::1/:7 b/:5432 "},
      {"postgres:///?host=a,b&port=1", "a/:1 b/:1 "},
      {"postgres:///?host=a,b&hostaddr=1.2.3.4,5.6.7.8&port=1,2", "a/1.2.3.4:1 b/5.6.7.8:2 "},
      {"postgres:///?host=/run/postgresql", "/run/postgresql/:5432 "},
      {"postgres://a?options=-c%20geqo%3Doff", "a/:5432 -c geqo=off"},
  };
  for (const auto& row : rows) {
    const auto url = parse_url(row.url);
    ASSERT_TRUE(url) << row.url << ": " << url.error().message;
    EXPECT_EQ(describe(*url), row.meaning) << row.url;
  }
}

// Whatever is wrong, and wherever the password ends up by that: it is not shown.
TEST(PostgresUrl, SaysWhatIsWrongAndShowsNoPassword) {
  const struct {
    std::string_view url;
    std::string_view reason;
  } rows[] = {
      {"", "it begins with postgres://"},
      {"redis://host", "it begins with postgres://"},
      {"postgres:host", "it begins with postgres://"},
      {"host=a password=SECRET", "it begins with postgres://"},
      {"postgres://user:SEC%RET@host", "written %25"},
      {"postgres://user:SEC/RET@host", "written %2F"},
      {"postgres://user:SEC?RET@host", "written %2F"},
      {"postgres://user:SEC@RET@host", "written %2F"},
      {"postgres://user:SECRET@host:x/db", "a port is 1 to 65535"},
      {"postgres://user:SECRET@host:0/db", "a port is 1 to 65535"},
      {"postgres://user:SECRET@host:65536/db", "a port is 1 to 65535"},
      {"postgres://user:SECRET@a,,b/db", "a host is missing"},
      {"postgres://user:SECRET@[::1/db", "]"},
      {"postgres://user:SECRET@host?tiemout=1s", "\"tiemout\""},
      {"postgres://host?password=SECRET&x=1", "\"x\""},
      {"postgres://host?password=SEC%RET", "not written as a URL has it"},
      {"postgres:///?host=a,b&port=1,2,3", "as many ports"},
      {"postgres:///?host=a,b&hostaddr=1.2.3.4", "as many addresses"},
      {"postgres://host?timeout=x", "timeout: "},
      {"postgres://host?timeout=", "timeout: "},
      {"postgres://host?timeout=0", "timeout is 1ms to 1m"},
      {"postgres://host?timeout=61s", "timeout is 1ms to 1m"},
      {"postgres://host?timeout=1s&timeout=2s", "timeout is given twice"},
      {"postgres://host?pool=0", "1 to 256"},
      {"postgres://host?pool=257", "1 to 256"},
      {"postgres://host?pool=many", "1 to 256"},
      {"postgres://host?pool=1&pool=1", "pool is given twice"},
      {std::string_view("postgres://ho\0st", 16), "NUL"},
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

TEST(PostgresUrl, HasAtMostSoManyHosts) {
  std::string url = "postgres://a";
  for (std::size_t i = 1; i < kHostsMax; ++i) url += ",a";
  EXPECT_TRUE(parse_url(url));
  EXPECT_FALSE(parse_url(url + ",a"));
}

}  // namespace
}  // namespace mete::store::postgres
