// What pages of others can make a browser send.
#include "server/doors/http/browsers.h"

#include "unit/server/doors/http/http_fixture.h"

namespace mete::server {
namespace {

TEST(Hosts, AreOursByAddressByLocalhostAndByTheNamesThatAreConfigured) {
  const std::vector<std::string> names = {"quota.example"};
  const struct {
    std::string_view host;
    bool is_ours;
  } rows[] = {
      {"127.0.0.1", true},
      {"127.0.0.1:8380", true},
      {"10.1.2.3:80", true},
      {"[::1]:8380", true},
      {"[fd00::1]", true},
      {"localhost", true},
      {"LOCALHOST:8380", true},
      {"localhost.:8380", true},
      {"a.localhost", true},
      {"mete", true},
      {"mete:8380", true},
      {"quota.example", true},
      {"Quota.Example:1", true},
      {"evil.example", false},
      {"evil.example:8380", false},
      {"", false},
      {"127.0.0.1.evil.example", false},
      {"xlocalhost.example", false},
      {"[::1", false},
      {"quota.example.evil", false},
      {"1.2.3.4.5", false},
      {".", false},
  };
  for (const auto& row : rows) EXPECT_EQ(names_this_server(row.host, names), row.is_ours) << row.host;
  EXPECT_TRUE(names_this_server("evil.example", std::vector<std::string>{"*"}));
}

class Browsers : public testing::HttpFixture {
 protected:
  int status_of(const std::string& method, const std::string& target, const std::string& headers,
                const std::string& body = "") {
    std::string text = method + " " + target + " HTTP/1.1\r\n" + headers;
    if (!body.empty()) {
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return send_text(text + "\r\n" + body).status;
  }
};

constexpr std::string_view kTake = R"({"charges":[{"limit":"credits","key":"k"}]})";

TEST_F(Browsers, CannotReachUsByANameThatIsNotOurs) {
  define(stock("credits").amount(10));
  const std::string evil = "Host: evil.example\r\n";
  EXPECT_EQ(status_of("PUT", "/v1/limits/new", evil, R"({"kind":"stock","amount":1})"), 421);
  EXPECT_EQ(status_of("DELETE", "/v1/limits/credits", evil), 421);
  EXPECT_EQ(status_of("GET", "/v1/limits", evil), 421);
  EXPECT_EQ(status_of("GET", "/v1/check?limit=credits&key=k", evil), 421);
  EXPECT_EQ(status_of("GET", "/healthz", evil), 200);
  EXPECT_EQ(status_of("GET", "/v1/limits", "Host: localhost:8380\r\n"), 200);
  hooks.hosts = {"evil.example"};
  EXPECT_EQ(status_of("GET", "/v1/limits", evil), 200);
  // Whoever shows a password is no page.
  hooks.hosts = {};
  Doorkeeper doorkeeper({.admin = "root"});
  hooks.doorkeeper = &doorkeeper;
  EXPECT_EQ(status_of("GET", "/v1/limits", evil + "Authorization: Bearer root\r\n"), 200);
  EXPECT_EQ(status_of("GET", "/v1/limits", evil), 401);
}

// Every route that changes something, and a way in which each browser tells of a page.
TEST_F(Browsers, ChangeNothingForPagesOfOthers) {
  const std::string own = "Host: localhost:8380\r\n";
  const std::string foreign[] = {"Origin: http://evil.example\r\n", "Origin: null\r\n",
                                 "Origin: http://localhost:3000\r\n", "Sec-Fetch-Site: cross-site\r\n",
                                 "Sec-Fetch-Site: same-site\r\n"};
  const std::string ours[] = {"", "Origin: http://localhost:8380\r\nSec-Fetch-Site: same-origin\r\n",
                              "Sec-Fetch-Site: none\r\n"};
  std::size_t routes = 0;
  for (const Route& route : http_routes()) {
    if (route.access == Access::kAnyone) continue;
    const bool changes = route.method != "GET" || route.path == "/v1/check";
    routes += changes ? 1 : 0;
    std::string path(route.path);
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{', at)) {
      path.replace(at, path.find('}') - at + 1, "x");
    }
    for (const std::string& headers : foreign) {
      const int status = status_of(std::string(route.method), path, own + headers);
      EXPECT_EQ(status == 403, changes) << route.method << " " << path << " " << headers << status;
    }
    for (const std::string& headers : ours) {
      EXPECT_NE(status_of(std::string(route.method), path, own + headers), 403) << route.method << " " << path;
    }
  }
  EXPECT_GE(routes, 12U);
}

TEST_F(Browsers, AskThroughProxies) {
  define(stock("credits").amount(10));
  const std::string check = "/v1/check?limit=credits&key=k";
  const std::string from_page = "Origin: https://elsewhere.example\r\nSec-Fetch-Site: cross-site\r\n";
  EXPECT_EQ(status_of("GET", check, "Host: 127.0.0.1:8380\r\n" + from_page), 403);
  EXPECT_EQ(status_of("GET", check, "Host: mete\r\n" + from_page), 200);  // nginx: the name of an upstream
  EXPECT_EQ(status_of("GET", check, "Host: 127.0.0.1:8380\r\nX-Forwarded-Uri: /\r\n" + from_page), 200);
  EXPECT_EQ(status_of("POST", "/v1/take", "Host: mete\r\n" + from_page, std::string(kTake)), 403);
  EXPECT_EQ(status_of("GET", check, "Host: 127.0.0.1:8380\r\n"), 200);
}

}  // namespace
}  // namespace mete::server
