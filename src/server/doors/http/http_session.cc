#include "server/doors/http/http_session.h"

#include "base/check.h"
#include "base/monotonic.h"
#include "server/doors/http/fields_and_answers.h"

namespace mete::server {

namespace {

wire::HttpDelivery delivery_of(const wire::HttpRequest& request) {
  return {
      .keeps_alive = request.keeps_alive, .is_head = request.method == "HEAD", .minor_version = request.minor_version};
}

}  // namespace

HttpSession::Received HttpSession::receive(std::string_view input, base::Output& output, std::size_t output_max) {
  const std::uint64_t started_ns = base::monotonic_ns();
  requests_ = 0;
  execution_ = {.waits_for_disk = false};
  Received received = answer_all(input, output, output_max);
  if (later_.gate != nullptr) received.ticket = later_.gate->needed(execution_.ticket);
  if (requests_ > 0) metrics_.latency.observe(base::monotonic_ns() - started_ns, requests_);
  return received;
}

HttpSession::Received HttpSession::answer_all(std::string_view input, base::Output& output, std::size_t output_max) {
  std::size_t consumed = 0;
  while (output.size() < output_max) {
    switch (parser_.parse(input.substr(consumed))) {
      case wire::HttpRequestParser::Outcome::kNeedsMore:
        if (parser_.wants_continue() && !has_continued_) {
          has_continued_ = true;
          output.append(wire::kContinueResponse);
        }
        return {consumed, Next::kRead};
      case wire::HttpRequestParser::Outcome::kFailed:
        metrics_.protocol_errors.add();
        if (reports_.protocol_error) reports_.protocol_error(parser_.failure().reason);
        answer_failure(output);
        return {input.size(), Next::kClose};
      case wire::HttpRequestParser::Outcome::kComplete:
        const Next next = answer_request(input.substr(consumed, parser_.consumed()), output);
        consumed += parser_.consumed();
        parser_.reset();
        has_continued_ = false;
        if (next == Next::kClose) return {input.size(), next};
        if (next == Next::kBlock) return {consumed, next};
        break;
    }
  }
  return {consumed, Next::kDrain};
}

void HttpSession::on_timeout(base::Output& output) {
  if (parser_.is_idle()) return;
  write(problem(408, "the request did not come to its end in time"), {.keeps_alive = false}, output);
}

void HttpSession::on_lost(base::Output& output) {
  CHECK(later_.gate != nullptr);
  write(problem(later_.gate->failure()), {.keeps_alive = false}, output);
}

net::Session::Next HttpSession::answer_request(std::string_view bytes, base::Output& output) {
  metrics_.http_requests.add();
  ++requests_;
  const wire::HttpRequest& request = parser_.request();
  if (later_.run_beside && request.keeps_alive && api_.is_slow(request) && answer_beside(bytes)) return Next::kBlock;
  execution_.now = api_.now();
  const wire::HttpResponse response = api_.handle(request, metrics_, execution_);
  const std::size_t start = output.size();
  write(response, delivery_of(request), output);
  // Who sends no password at all may just not know that there is one.
  if (response.status == 401 && request.header("Authorization") && reports_.wrong_password) reports_.wrong_password();
  if (!request.keeps_alive) return Next::kClose;
  if (response.status != 401 || !later_.answer_late) return Next::kRead;
  later_.answer_late(std::string(output.view().substr(start)));
  output.cut_to(start);
  return Next::kBlock;
}

// The request is read again from a copy of its bytes: the input buffer is not its own.
bool HttpSession::answer_beside(std::string_view bytes) {
  return later_.run_beside([&api = api_, limits = limits_, copy = std::string(bytes)] {
    wire::HttpRequestParser parser(limits);
    CHECK(parser.parse(copy) == wire::HttpRequestParser::Outcome::kComplete);
    NoDecisions decisions;
    wire::HttpDate date;
    wire::HttpDelivery delivery = delivery_of(parser.request());
    delivery.date = date.at(api.now());
    std::string answer;
    store::Execution execution;
    wire::write_response(api.handle(parser.request(), decisions, execution), delivery, answer);
    return answer;
  });
}

void HttpSession::answer_failure(base::Output& output) {
  const wire::HttpFailure& failure = parser_.failure();
  write(problem(failure.status, failure.reason), {.keeps_alive = false}, output);
}

void HttpSession::write(const wire::HttpResponse& response, const wire::HttpDelivery& delivery, base::Output& output) {
  buffer_.clear();
  wire::HttpDelivery dated = delivery;
  dated.date = date_.at(api_.now());
  wire::write_response(response, dated, buffer_);
  output.append(buffer_);
}

}  // namespace mete::server
