// Every command and every route, asked by every role and by nobody.
#include <algorithm>

#include "unit/server/doors/http/http_fixture.h"
#include "unit/server/doors/resp/resp_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

struct Asker {
  std::string_view name;
  std::string_view password;  // empty: none is shown
  std::optional<Role> role;
};
constexpr Asker kAskers[] = {
    {"nobody", "", std::nullopt}, {"look", "l", Role::kLook}, {"use", "u", Role::kUse}, {"admin", "a", Role::kAdmin}};

class CommandRoles : public testing::RespFixture {
 protected:
  static Config guarded() {
    Config config;
    config.password = "a";
    config.use_password = "u";
    config.look_password = "l";
    return config;
  }
  CommandRoles() : RespFixture(guarded()) {}

  // "NOAUTH", "NOPERM", or empty: it may.
  std::string refusal(const Command& command, const Asker& asker) {
    const auto session = make_session();
    base::Output output;
    if (!asker.password.empty()) session->receive("AUTH " + std::string(asker.password) + "\r\n", output, 1 << 20);
    output.clear();
    session->receive(std::string(command.name) + "\r\n", output, 1 << 20);
    for (const char* const code : {"NOAUTH", "NOPERM"}) {
      if (output.view().starts_with("-" + std::string(code) + " ")) return code;
    }
    return "";
  }
};

TEST_F(CommandRoles, GetWhatTheirPasswordAllows) {
  for (const Command& command : all_commands()) {
    for (const Asker& asker : kAskers) {
      const bool is_allowed = asker.role ? allows(*asker.role, command.access) : command.access == Access::kAnyone;
      // HELLO says it in its own words.
      if (command.name == "HELLO") continue;
      EXPECT_EQ(refusal(command, asker), is_allowed   ? ""
                                         : asker.role ? "NOPERM"
                                                      : "NOAUTH")
          << command.name << " by " << asker.name;
    }
  }
}

TEST_F(CommandRoles, WhoLooksChangesNothing) {
  for (const Command& command : all_commands()) {
    const bool may_look = allows(Role::kLook, command.access);
    if (command.has(kWrite)) {
      EXPECT_FALSE(may_look) << command.name;
    }
    if (command.has(kReadOnly) && command.access != Access::kAdmin) {
      EXPECT_TRUE(may_look) << command.name;
    }
  }
}

// One request of each command that is served together with others when they arrive together.
constexpr std::string_view kTogetherRequests[] = {
    "TAKE api k", "TAKE mete.own k",   "INCR k",           "INCRBY k 3",           "DECR k",
    "DECRBY k 3", "INCREX k UBOUND 9", "QUOTAINCR q 9 60", "CL.THROTTLE t 4 1 60", "THROTTLE t 4 1 60",
};

class RequestsTogether : public CommandRoles, public ::testing::WithParamInterface<bool> {
 protected:
  RequestsTogether() {
    define(bucket("api").amount(100).per(1min));
    define(bucket("mete.own").amount(100).per(1min));  // as a node of a cluster has it
  }

  // What a client gets to so many of them, sent at once or one by one; and what they have used.
  std::string answers(std::string_view request, std::size_t count, const Asker& asker, bool is_at_once) {
    EXPECT_TRUE(store.clear().has_value());
    const auto session = make_session();
    base::Output output;
    if (!asker.password.empty()) session->receive("AUTH " + std::string(asker.password) + "\r\n", output, 1 << 20);
    output.clear();
    session->client().is_reserved = GetParam();
    const std::string line = as_array(request);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_at_once) {
        bytes += line;
      } else if (session->receive(line, output, 1 << 20).next == net::Session::Next::kClose) {
        break;
      }
    }
    if (is_at_once) session->receive(bytes, output, 1 << 20);
    const auto used = [&](std::string_view limit) { return std::to_string(store.usage({limit, "k"})->used); };
    const auto counted = store.keys().get("k").value().value_or(0);
    return std::string(output.view()) + "used " + used("api") + " " + used("mete.own") + " " + std::to_string(counted);
  }

  // As clients send it: only such requests are looked at together.
  static std::string as_array(std::string_view request) {
    std::string bytes;
    std::size_t count = 0;
    while (!request.empty()) {
      const std::string_view word = request.substr(0, request.find(' '));
      request.remove_prefix(std::min(request.size(), word.size() + 1));
      bytes += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
      ++count;
    }
    return "*" + std::to_string(count) + "\r\n" + bytes;
  }
};

TEST_P(RequestsTogether, MayWhatEachMayAlone) {
  for (const std::string_view request : kTogetherRequests) {
    for (const Asker& asker : kAskers) {
      EXPECT_EQ(answers(request, 2, asker, true), answers(request, 2, asker, false)) << request << " by " << asker.name;
    }
  }
}

TEST_P(RequestsTogether, AreAllThatThereAre) {
  for (const Command& command : all_commands()) {
    const bool is_listed =
        std::any_of(std::begin(kTogetherRequests), std::end(kTogetherRequests),
                    [&](std::string_view request) { return request.starts_with(std::string(command.name) + " "); });
    EXPECT_EQ(command.has(kTogether), is_listed) << command.name;
  }
}

// Nobody but the admin gets anything on a connection that is kept for the admin.
TEST_P(RequestsTogether, ChargeForThoseAloneWhoMayTake) {
  for (const Asker& asker : kAskers) {
    const bool may_take =
        asker.role && allows(*asker.role, Access::kUse) && (!GetParam() || asker.role == Role::kAdmin);
    const std::string got = answers("TAKE api k", 3, asker, true);
    EXPECT_EQ(got.substr(got.find("used ")), may_take ? "used 3 0 0" : "used 0 0 0") << asker.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, RequestsTogether, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "OnTheAdminsReserve" : "OnAUsualConnection"; });

class RouteRoles : public testing::HttpFixture {};

TEST_F(RouteRoles, GetWhatTheirPasswordAllows) {
  Doorkeeper doorkeeper({.admin = "a", .use = "u", .look = "l"});
  hooks.doorkeeper = &doorkeeper;
  for (const Route& route : http_routes()) {
    std::string path(route.path);
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{', at)) {
      path.replace(at, path.find('}') - at + 1, "x");
    }
    for (const Asker& asker : kAskers) {
      const std::string token =
          asker.password.empty() ? "" : "Authorization: Bearer " + std::string(asker.password) + "\r\n";
      const int status = send(std::string(route.method), path, "", token).status;
      const std::string where = std::string(route.method) + " " + path + " by " + std::string(asker.name);
      const bool is_allowed = asker.role ? allows(*asker.role, route.access) : route.access == Access::kAnyone;
      EXPECT_EQ(status == 401, !is_allowed && !asker.role) << where;
      EXPECT_EQ(status == 403, !is_allowed && asker.role.has_value()) << where;
    }
    if (route.changes) {
      EXPECT_FALSE(allows(Role::kLook, route.access)) << route.path;
    }
  }
}

}  // namespace
}  // namespace mete::server
