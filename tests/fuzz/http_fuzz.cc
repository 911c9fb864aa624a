// Any bytes, as what a client sends over HTTP, and as JSON. Whatever they are:
//   - how they are cut does not change what the request parser makes of them
//   - JSON that is read and written again is the same JSON
//   - the server answers well-formed responses, whose bodies are JSON where they say so
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "server/doors/http/http_session.h"
#include "store/embedded/embedded_store.h"
#include "sync/postgres_source.h"
#include "sync/worker.h"
#include "wire/http_request.h"
#include "wire/json.h"
#include "wire/text.h"

namespace mete {
namespace {

using Outcome = wire::HttpRequestParser::Outcome;

// What came of a request, in a form that can be compared.
std::string outcome_text(const wire::HttpRequestParser& parser, Outcome outcome) {
  if (outcome == Outcome::kNeedsMore) return "needs more";
  if (outcome == Outcome::kFailed) return std::to_string(parser.failure().status) + " " + parser.failure().reason;
  const wire::HttpRequest& request = parser.request();
  std::string text = std::to_string(parser.consumed()) + (request.keeps_alive ? "+" : "-");
  text.append(std::to_string(request.minor_version)).append("\n").append(request.method).append("\n");
  text.append(request.target).append("\n");
  for (const wire::HttpHeader& header : request.headers) text.append(header.name).append(":").append(header.value);
  return text.append("\n\n").append(request.body);
}

// Small limits, so that short inputs reach them.
constexpr wire::HttpLimits kLimits = {.header_bytes_max = 512, .body_bytes_max = 256};

// The input comes up to each multiple of `step`, and then whole.
std::string parse_in_steps(std::string_view input, std::size_t step) {
  wire::HttpRequestParser parser(kLimits);
  for (std::size_t size = step; size < input.size(); size += step) {
    const Outcome outcome = parser.parse(input.substr(0, size));
    if (outcome != Outcome::kNeedsMore) return outcome_text(parser, outcome);
  }
  const std::string whole(input);
  return outcome_text(parser, parser.parse(whole));
}

void check_parser(std::string_view input) {
  const std::string whole = parse_in_steps(input, input.size() + 1);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, input.size() / 2 + 1}) {
    CHECK(parse_in_steps(input, step) == whole);
  }
}

void check_json(std::string_view input) {
  const auto value = wire::read_json(input);
  if (!value) {
    CHECK(wire::is_utf8(value.error().message));
    return;
  }
  for (const auto layout : {wire::JsonWriter::Layout::kCompact, wire::JsonWriter::Layout::kIndented}) {
    std::string text;
    wire::JsonWriter(text, layout).value(*value);
    const auto again = wire::read_json(text);
    CHECK(again.has_value() && *again == *value);
  }
}

// The answers one after the other, as a client reads them.
void check_answers(std::string_view output) {
  while (!output.empty()) {
    CHECK(output.starts_with("HTTP/1.1 ") || output.starts_with("HTTP/1.0 "));
    const std::size_t head_size = output.find("\r\n\r\n");
    CHECK(head_size != std::string_view::npos);
    const std::string_view head = output.substr(0, head_size + 2);
    output.remove_prefix(head_size + 4);
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t length_at = head.find(kLength);
    if (length_at == std::string_view::npos) continue;  // 100 and 204
    const std::string_view digits = head.substr(length_at + kLength.size());
    const auto length = wire::parse_integer(digits.substr(0, digits.find('\r')));
    CHECK(length.has_value() && static_cast<std::size_t>(*length) <= output.size());
    const std::string_view body = output.substr(0, static_cast<std::size_t>(*length));
    if (head.find("json\r\n") != std::string_view::npos) CHECK(wire::read_json(body).has_value());
    output.remove_prefix(body.size());
  }
}

class Server {
 public:
  void serve(std::string_view input) {
    define_limits();
    const bool needs_token = input.find("Bearer") != std::string_view::npos;
    const server::HttpApi api(store_, hooks(needs_token));
    server::HttpSession session(api, metrics_);
    base::Output output;
    receive(session, input, output);
    // The answer to HEAD says how long a body would be that is not there.
    if (input.find("HEAD ") == std::string_view::npos) check_answers(output.view());
    const auto names = store_.limits().value();
    for (const std::string& name : names) CHECK(store_.drop(name).value());
  }

 private:
  server::HttpHooks hooks(bool needs_token) {
    return {
        .metrics = [] { return "mete_up 1\n"; }, .doorkeeper = needs_token ? &doorkeeper_ : nullptr, .syncs = &syncs_};
  }

  void define_limits() {
    using namespace std::chrono_literals;
    CHECK(store_.define(bucket("api").amount(10).per(1min)).has_value());
    CHECK(store_.define(stock("credits").amount(100)).has_value());
  }

  static void receive(server::HttpSession& session, std::string_view input, base::Output& output) {
    constexpr std::size_t kOutputMax = 1 << 20;
    std::size_t consumed = 0;
    for (const std::size_t size : {input.size() / 2, input.size()}) {
      const std::string buffer(input.substr(consumed, size - std::min(size, consumed)));
      const auto received = session.receive(buffer, output, kOutputMax);
      CHECK(received.consumed <= buffer.size());
      consumed += received.consumed;
      if (received.next != net::Session::Next::kRead) return;
    }
    session.on_timeout(output);
  }

  server::Doorkeeper doorkeeper_{{.admin = "admin", .use = "use"}};
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store_{Options{.clock = &clock_, .max_memory = std::size_t{64} << 20, .ids_max = 1000}};
  sync::Worker syncs_{store_, {.open_source = sync::make_postgres_source}};
  net::EventLoop loop_;
  server::LoopMetrics metrics_{loop_};
};

}  // namespace
}  // namespace mete

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static mete::Server server;
  const std::string input(data, data + size);
  mete::check_parser(input);
  mete::check_json(input);
  server.serve(input);
  return 0;
}
