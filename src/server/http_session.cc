#include "server/http_session.h"

#include "server/http_problem.h"

namespace mete::server {

HttpSession::Received HttpSession::receive(std::string_view input, base::Output& output, std::size_t output_max) {
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
        answer_failure(output);
        return {input.size(), Next::kClose};
      case wire::HttpRequestParser::Outcome::kComplete:
        const bool stays_open = answer_request(output);
        consumed += parser_.consumed();
        parser_.reset();
        has_continued_ = false;
        if (!stays_open) return {input.size(), Next::kClose};
        break;
    }
  }
  return {consumed, Next::kDrain};
}

void HttpSession::on_timeout(base::Output& output) {
  if (parser_.is_idle()) return;
  write(problem(408, "the request did not come to its end in time"), {.keeps_alive = false}, output);
}

bool HttpSession::answer_request(base::Output& output) {
  const wire::HttpRequest& request = parser_.request();
  const wire::HttpResponse response = api_.handle(request, observer_);
  write(
      response,
      {.keeps_alive = request.keeps_alive, .is_head = request.method == "HEAD", .minor_version = request.minor_version},
      output);
  return request.keeps_alive;
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
