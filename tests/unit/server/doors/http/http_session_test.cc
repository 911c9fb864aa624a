// A conversation: bytes in, bytes out, and what becomes of the connection.
#include "server/doors/http/http_session.h"

#include "unit/server/doors/http/http_fixture.h"

namespace mete::server {
namespace {

using Next = net::Session::Next;

constexpr std::size_t kPlenty = 1 << 20;
const std::string kHealth = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

class HttpSessions : public testing::HttpFixture {
 public:
  // Feeds `input` in pieces of `piece` bytes, as a connection does: what is not consumed is there again.
  Next converse(std::string_view input, std::size_t piece, std::size_t output_max = kPlenty) {
    std::string buffer;
    Next next = Next::kRead;
    for (std::size_t at = 0; at < input.size() && next != Next::kClose; at += piece) {
      buffer += input.substr(at, piece);
      do {
        const auto received = session.receive(buffer, output, output_max);
        buffer.erase(0, received.consumed);
        next = received.next;
        if (next == Next::kDrain) {
          sent += output.view();
          output.clear();
        }
      } while (next == Next::kDrain);
    }
    sent += output.view();
    output.clear();
    return next;
  }

  [[nodiscard]] std::size_t count(std::string_view text) const {
    std::size_t count = 0;
    for (std::size_t at = sent.find(text); at != std::string::npos; at = sent.find(text, at + 1)) ++count;
    return count;
  }

  HttpApi api{store, hooks};
  net::EventLoop loop;
  LoopMetrics metrics{loop};
  HttpSession session{api, metrics};
  base::Output output;
  std::string sent;
};

TEST_F(HttpSessions, AnswerOneRequest) {
  EXPECT_EQ(converse(kHealth, kPlenty), Next::kRead);
  EXPECT_EQ(sent,
            "HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Type: application/json\r\n"
            "Content-Length: 15\r\nCache-Control: no-store\r\n\r\n{\"status\":\"ok\"}");
}

TEST_F(HttpSessions, AnswerPipelinesInOrderHoweverTheyAreCut) {
  define(stock("s").amount(2));
  const std::string body = R"({"charges":[{"limit":"s","key":"k"}]})";
  std::string input;
  for (int i = 0; i < 3; ++i) {
    input += "POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  EXPECT_EQ(converse(input, kPlenty), Next::kRead);
  const std::string whole = sent;
  EXPECT_EQ(count("HTTP/1.1 200 OK"), 2U);
  EXPECT_EQ(count("HTTP/1.1 429 Too Many Requests"), 1U);
  EXPECT_LT(sent.rfind("200 OK"), sent.find("429 Too"));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    ASSERT_TRUE(store.reconcile({"s", "k"}, 0).has_value());
    sent.clear();
    EXPECT_EQ(converse(input, piece), Next::kRead);
    EXPECT_EQ(sent, whole) << "in pieces of " << piece;
  }
}

TEST_F(HttpSessions, WaitWhileTheOutputIsFull) {
  std::string input;
  for (int i = 0; i < 100; ++i) input += kHealth;
  const auto received = session.receive(input, output, 300);
  EXPECT_EQ(received.next, Next::kDrain);
  EXPECT_LT(received.consumed, 10 * kHealth.size());
  EXPECT_LT(output.size(), 1000U);
  sent = output.view();
  output.clear();
  EXPECT_EQ(converse(input.substr(received.consumed), kPlenty, 300), Next::kRead);
  EXPECT_EQ(count("HTTP/1.1 200 OK"), 100U);
}

TEST_F(HttpSessions, CloseWhenTheClientWantsTo) {
  const struct {
    std::string request;
    Next next;
    std::string_view head;
  } rows[] = {
      {"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", Next::kClose, "Connection: close\r\n"},
      {"GET /healthz HTTP/1.0\r\n\r\n", Next::kClose, "HTTP/1.0 200 OK\r\n"},
      {"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Next::kRead, "Connection: keep-alive\r\n"},
  };
  for (const auto& row : rows) {
    HttpSession one(api, metrics);
    base::Output answer;
    const auto received = one.receive(row.request + kHealth, answer, kPlenty);
    EXPECT_EQ(received.next, row.next) << row.request;
    EXPECT_NE(answer.view().find(row.head), std::string_view::npos) << answer.view();
    const std::size_t second = answer.view().find("HTTP/1.1 200 OK\r\n", 10);
    EXPECT_EQ(second != std::string_view::npos, row.next == Next::kRead) << "nothing is answered after a close";
  }
}

TEST_F(HttpSessions, CloseAfterWhatCannotBeRead) {
  EXPECT_EQ(converse(kHealth + "GET / HTTP/1.1\r\n\r\n" + kHealth, kPlenty), Next::kClose);
  EXPECT_EQ(count("HTTP/1.1 200 OK"), 1U);
  EXPECT_EQ(count("HTTP/1.1 400 Bad Request"), 1U);
  EXPECT_EQ(count("Connection: close"), 1U);
  EXPECT_EQ(count("application/problem+json"), 1U);
  EXPECT_NE(sent.find("HTTP/1.1 needs a Host header"), std::string::npos);
}

TEST_F(HttpSessions, StayOpenAfterARefusal) {
  EXPECT_EQ(converse("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n" + kHealth, kPlenty), Next::kRead);
  EXPECT_EQ(count("HTTP/1.1 404 Not Found"), 1U);
  EXPECT_EQ(count("HTTP/1.1 200 OK"), 1U);
}

TEST_F(HttpSessions, AnswerHeadWithoutABody) {
  EXPECT_EQ(
      converse("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\nHEAD /nothing HTTP/1.1\r\nHost: a\r\n\r\n" + kHealth, kPlenty),
      Next::kRead);
  EXPECT_EQ(count("Content-Length: 15\r\n"), 2U);
  EXPECT_EQ(count("{\"status\":\"ok\"}"), 1U);
  EXPECT_EQ(count("{"), 1U);
}

TEST_F(HttpSessions, LetAWaitingClientGoAheadOnce) {
  define(stock("s").amount(2));
  const std::string body = R"({"charges":[{"limit":"s","key":"k"}]})";
  const std::string head =
      "POST /v1/take HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    sent.clear();
    EXPECT_EQ(converse(head + body, 1), Next::kRead);
    EXPECT_EQ(count("HTTP/1.1 100 Continue\r\n\r\n"), 1U);
    EXPECT_EQ(count("HTTP/1.1 200 OK"), 1U);
  }
}

TEST_F(HttpSessions, HaveTheirLimits) {
  HttpSession small(api, metrics, {.header_bytes_max = 64, .body_bytes_max = 4});
  const auto received =
      small.receive("POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", output, kPlenty);
  EXPECT_EQ(received.next, Next::kClose);
  EXPECT_TRUE(output.view().starts_with("HTTP/1.1 413 Content Too Large\r\n")) << output.view();
}

TEST_F(HttpSessions, TellAClientThatIsTooSlow) {
  session.on_timeout(output);
  EXPECT_EQ(output.view(), "") << "an idle connection just closes";
  session.receive("GET /", output, kPlenty);
  session.on_timeout(output);
  EXPECT_TRUE(output.view().starts_with("HTTP/1.1 408 Request Timeout\r\n")) << output.view();
}

}  // namespace
}  // namespace mete::server
