// An HTTP API on a store in memory whose time stands still, and requests to it as text.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "server/doors/http/api.h"
#include "store/embedded/embedded_store.h"
#include "sync/postgres_source.h"
#include "sync/worker.h"
#include "wire/http_request.h"
#include "wire/json.h"

namespace mete::server::testing {

using namespace std::chrono_literals;

struct Observed {
  std::vector<std::string> limits;
  bool is_allowed;
  std::uint16_t violated;
  bool operator==(const Observed&) const = default;
};

class RecordingObserver final : public DecisionObserver {
 public:
  void on_decision(std::span<const Charge> charges, bool is_allowed, std::uint16_t violated) override {
    Observed observed{{}, is_allowed, violated};
    for (const Charge& charge : charges) observed.limits.emplace_back(charge.limit);
    decisions.push_back(std::move(observed));
  }

  std::vector<Observed> decisions;
};

struct Answer {
  int status = 0;
  std::string content_type;
  std::map<std::string, std::string> headers;
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "(none)" : found->second;
  }
  // A member of the body as JSON; "(none)" where there is none.
  [[nodiscard]] std::string member(std::string_view name) const {
    const auto value = wire::read_json(body);
    if (!value) return "(no JSON: " + body + ")";
    const wire::JsonValue* found = find_member(*value, name);
    if (found == nullptr) return "(none)";
    std::string text;
    wire::JsonWriter(text).value(*found);
    return text;
  }
};

class HttpFixture : public ::testing::Test {
 public:
  // 2023-11-14 22:13:20 UTC, a Tuesday: 2800 s before the full hour.
  static constexpr Instant kStart = Instant::from_unix_seconds(1'700'000'000);

  Answer send(const std::string& method, const std::string& target, const std::string& body = "",
              const std::string& headers = "") {
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: test\r\n";
    if (!body.empty())
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    return send_text(text + headers + "\r\n" + body);
  }

  Answer send_text(const std::string& text) {
    wire::HttpRequestParser parser;
    const auto outcome = parser.parse(text);
    EXPECT_EQ(outcome, wire::HttpRequestParser::Outcome::kComplete) << parser.failure().reason << "\n" << text;
    if (outcome != wire::HttpRequestParser::Outcome::kComplete) return {};
    store::Execution execution;
    const HttpApi api(store, hooks);
    const HttpCaller caller = api.identify(parser.request(), {});
    const wire::HttpResponse response = api.handle(parser.request(), caller, observer, execution);
    Answer answer{response.status, std::string(response.content_type), {}, response.body};
    std::string_view lines = response.headers;
    while (!lines.empty()) {
      const std::size_t colon = lines.find(": ");
      const std::size_t end = lines.find("\r\n");
      const bool is_new =
          answer.headers.emplace(lines.substr(0, colon), lines.substr(colon + 2, end - colon - 2)).second;
      EXPECT_TRUE(is_new) << "twice: " << lines.substr(0, end);
      lines.remove_prefix(end + 2);
    }
    return answer;
  }

  void expect_problem(const Answer& answer, int status, const std::string& detail) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.content_type, "application/problem+json");
    EXPECT_EQ(answer.member("status"), std::to_string(status));
    EXPECT_EQ(answer.member("title"), "\"" + std::string(wire::reason_phrase(status)) + "\"");
    EXPECT_NE(answer.member("detail").find(detail), std::string::npos) << answer.body;
  }

  void define(const Limit& limit) { ASSERT_TRUE(store.define(limit).has_value()); }

  ManualClock clock{kStart};
  store::EmbeddedStore store{Options{.clock = &clock}};
  RecordingObserver observer;
  sync::Worker syncs{store, {.open_source = sync::make_postgres_source}};
  HttpHooks hooks{.metrics = [] { return "mete_up 1\n"; }, .syncs = &syncs};
};

}  // namespace mete::server::testing
