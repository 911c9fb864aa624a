#include "server/running/banner.h"

#include <gtest/gtest.h>

namespace mete::server {
namespace {

TEST(Banner, HasALineThatReachesTheServer) {
  const struct {
    Banner banner;
    std::string_view line;
  } rows[] = {
      {{}, ""},
      {{.http = {"127.0.0.1:8380"}}, ""},
      {{.resp = {"127.0.0.1:6380"}, .limits = {"api"}}, "redis-cli -p 6380 TAKE api alice"},
      {{.resp = {"127.0.0.1:6380"}},
       "redis-cli -p 6380 LIMIT SET api BUCKET 10 PER 1m && redis-cli -p 6380 TAKE api alice"},
      {{.resp = {"0.0.0.0:1"}, .limits = {"a"}}, "redis-cli -p 1 TAKE a alice"},
      {{.resp = {"[::1]:17202"}, .limits = {"a"}}, "redis-cli -h ::1 -p 17202 TAKE a alice"},
      {{.resp = {"[::]:1"}, .limits = {"a"}}, "redis-cli -h ::1 -p 1 TAKE a alice"},
      {{.resp = {"10.0.0.7:1", "127.0.0.1:2"}, .limits = {"a"}}, "redis-cli -h 10.0.0.7 -p 1 TAKE a alice"},
      {{.resp = {"unix:/run/a b.sock"}, .has_tls = true, .limits = {"a"}}, "redis-cli -s '/run/a b.sock' TAKE a alice"},
      {{.resp = {"unix:/run/a", "127.0.0.1:2"}, .limits = {"a"}}, "redis-cli -p 2 TAKE a alice"},
      {{.resp = {"127.0.0.1:1"}, .has_tls = true, .limits = {"a"}}, "redis-cli -p 1 --tls --insecure TAKE a alice"},
      {{.resp = {"127.0.0.1:1"},
        .has_tls = true,
        .wants_client_certificate = true,
        .needs_password = true,
        .limits = {"a"}},
       "redis-cli -p 1 --tls --insecure --cert FILE --key FILE --askpass TAKE a alice"},
      {{.resp = {"127.0.0.1:1"}, .limits = {"it's; rm"}}, R"(redis-cli -p 1 TAKE 'it'\''s; rm' alice)"},
  };
  for (const auto& row : rows) EXPECT_EQ(line_to_try(row.banner), row.line);
}

TEST(Banner, TellsAddressesDataAndLimits) {
  const Banner banner{.resp = {"127.0.0.1:6380", "unix:/run/mete.sock"}, .has_tls = true, .limits = {"a", "b"}};
  const std::string text = banner_text(banner);
  EXPECT_TRUE(text.starts_with("Mete ")) << text;
  EXPECT_EQ(text.substr(text.find('\n')),
            "\n  RESP   127.0.0.1:6380 (TLS), unix:/run/mete.sock\n"
            "  data   memory only: lost when the server stops\n"
            "  limits 2\n"
            "Try: redis-cli -p 6380 --tls --insecure TAKE a alice\n");
  EXPECT_NE(banner_text({.data_directory = "./mete-data"}).find("\n  data   durable in ./mete-data\n"),
            std::string::npos);
}

}  // namespace
}  // namespace mete::server
