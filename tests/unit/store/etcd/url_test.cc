#include "store/etcd/url.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mete::store::etcd {
namespace {

using namespace std::chrono_literals;

TEST(EtcdUrl, SaysWhereItIs) {
  const auto plain = parse_url("etcd://one");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->hosts, (std::vector<net::Address>{{"one", 2379, ""}}));
  EXPECT_EQ(plain->prefix, "/mete/");
  EXPECT_FALSE(plain->has_tls);
  EXPECT_EQ(plain->timeout, Duration(1s));

  const auto full = parse_url("etcds://u%40x:p%2Fw@one:1,[::1]:2,three/a/b%20c/?timeout=5s&ca=/c&verify=no");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->hosts, (std::vector<net::Address>{{"one", 1, ""}, {"::1", 2, ""}, {"three", 2379, ""}}));
  EXPECT_EQ(full->credentials, (Credentials{.user = "u@x", .password = "p/w"}));
  EXPECT_EQ(full->prefix, "/a/b c/");
  EXPECT_TRUE(full->has_tls);
  EXPECT_EQ(full->tls.ca, "/c");
  EXPECT_FALSE(full->tls.verify);
  EXPECT_EQ(full->tls.protocol, "h2");
  EXPECT_EQ(full->timeout, Duration(5s));
}

TEST(EtcdUrl, SaysWhatIsWrongAndShowsNoPassword) {
  const struct {
    std::string_view url;
    std::string_view reason;
  } rows[] = {
      {"etcd:host", "it begins with etcd://"},
      {"etcd://", "a host is missing"},
      {"etcd://a,", "a host is missing"},
      {"etcd://host:0", "a port is 1 to 65535"},
      {"etcd://SECRET@host", "'user:password'"},
      {"etcd://:SECRET@host", "no default user"},
      {"etcd://user:@host", "the password is empty"},
      {"etcd://user:SEC/RET@host", "written %2F"},
      {"etcd://host/a%2", "written %25"},
      {"etcd://host//", "the prefix is empty"},
      {"etcd://host?timeout=0", "timeout is 1ms to 1m"},
      {"etcd://user:SECRET@host?ca=/a", "needs TLS"},
      {"etcds://host?verify=maybe", "verify is yes or no"},
      {"etcd://host?pool=4", "no parameter \"pool\""},
      {"etcd://host?timeout=", "has no value"},
  };
  for (const auto& row : rows) {
    const auto url = parse_url(row.url);
    ASSERT_FALSE(url) << row.url;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalid);
    EXPECT_NE(url.error().message.find(row.reason), std::string::npos) << row.url << ": " << url.error().message;
    EXPECT_EQ(url.error().message.find("SEC"), std::string::npos) << url.error().message;
  }
  EXPECT_FALSE(parse_url("etcd://host/" + std::string(kPrefixBytesMax + 1, 'x')));
  EXPECT_TRUE(parse_url("etcd://host/" + std::string(kPrefixBytesMax, 'x')));
}

}  // namespace
}  // namespace mete::store::etcd
