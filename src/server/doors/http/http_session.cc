#include "server/doors/http/http_session.h"

#include "base/check.h"
#include "base/monotonic.h"
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/turn.h"

namespace mete::server {

namespace {

constexpr std::size_t kBufferBytesKept = std::size_t{4} << 10;

wire::HttpDelivery delivery_of(const wire::HttpRequest& request) {
  return {
      .keeps_alive = request.keeps_alive, .is_head = request.method == "HEAD", .minor_version = request.minor_version};
}

}  // namespace

HttpSession::Received HttpSession::receive(std::string_view input, base::Output& output, std::size_t output_max) {
  const std::uint64_t started_ns = base::monotonic_ns();
  requests_ = 0;
  is_question_answered_ = false;
  beside_.reset();
  is_waiting_ = false;
  execution_ = {.waits_for_disk = false};
  Received received = answer_all(input, output, output_max);
  received.is_question_answered = is_question_answered_;
  if (later_.gate != nullptr) received.ticket = later_.gate->needed(execution_.ticket);
  if (requests_ > 0) metrics_.latency.observe(base::monotonic_ns() - started_ns, requests_);
  return received;
}

HttpSession::Received HttpSession::answer_all(std::string_view input, base::Output& output, std::size_t output_max) {
  std::size_t consumed = 0;
  if (closes_after_answer_) return {input.size(), Next::kClose};
  const std::uint64_t turn_ends_ns = base::monotonic_ns() + static_cast<std::uint64_t>(kTurn.ns());
  while (output.size() < output_max && (requests_ == 0 || base::monotonic_ns() < turn_ends_ns)) {
    switch (parser_.parse(input.substr(consumed))) {
      case wire::HttpRequestParser::Outcome::kNeedsMore:
        if (Next next = Next::kRead; refuse_body(input.substr(consumed), output, next)) return {input.size(), next};
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
        caller_.reset();
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
  const HttpCaller caller = caller_ ? *caller_ : identify(request);
  if (later_.run_beside && !client_.is_reserved) {
    const Route* const slow = api_.slow_route(request, caller);
    if (slow != nullptr && answer_beside(bytes, *slow, caller)) {
      closes_after_answer_ = !request.keeps_alive;
      return Next::kBlock;
    }
  }
  execution_.now = api_.now();
  std::shared_ptr<const WaitQueue::Waiter> waiter;
  const HttpWait let_wait = [&waiter](const core::Take& take, Duration patience) {
    waiter = std::make_shared<const WaitQueue::Waiter>(take, patience);
  };
  const auto response = api_.handle(request, caller, metrics_, execution_, later_.wait ? &let_wait : nullptr);
  if (waiter == nullptr) return finish(request, caller, response, output);
  wait(request, waiter);
  return Next::kBlock;
}

void HttpSession::wait(const wire::HttpRequest& request, const std::shared_ptr<const WaitQueue::Waiter>& waiter) {
  wire::HttpDelivery delivery = delivery_of(request);
  delivery.keeps_alive = delivery.keeps_alive && !client_.is_reserved;
  closes_after_answer_ = !delivery.keeps_alive;
  is_waiting_ = true;
  later_.wait(waiter,
              [&api = api_, waiter, delivery](const Result<core::Verdict>& verdict, DecisionObserver& observer) {
                wire::HttpDate date;
                wire::HttpDelivery dated = delivery;
                dated.date = date.at(api.now());
                std::string answer;
                wire::write_response(api.answer_waited(waiter->request(), verdict, observer), dated, answer);
                return answer;
              });
}

net::Session::Next HttpSession::finish(const wire::HttpRequest& request, const HttpCaller& caller,
                                       const wire::HttpResponse& response, base::Output& output) {
  const std::size_t start = output.size();
  wire::HttpDelivery delivery = delivery_of(request);
  delivery.keeps_alive = delivery.keeps_alive && !client_.is_reserved;
  write(response, delivery, output);
  is_question_answered_ = is_question_answered_ || response.status < 400 || response.status == 503;  // not ready
  const bool is_guess = caller.has_shown_token && !caller.has_shown_password();
  // Who sends no password at all may just not know that there is one.
  if (is_guess && reports_.wrong_password) reports_.wrong_password(caller.admission.outcome);
  if (response.status != 401 || !later_.answer_late) return delivery.keeps_alive ? Next::kRead : Next::kClose;
  later_.answer_late(std::string(output.view().substr(start)));
  output.cut_to(start);
  closes_after_answer_ = !delivery.keeps_alive;
  return Next::kBlock;
}

HttpCaller HttpSession::identify(const wire::HttpRequest& request) {
  HttpCaller caller;
  const Doorkeeper* const doorkeeper = api_.doorkeeper();
  const auto token = bearer_token(request);
  const bool is_known = token && known_.is_any() && doorkeeper->still_holds(known_) &&
                        Authentication::credential_of(*token) == known_.identity.credential;
  if (is_known) {
    caller.has_shown_token = true;
    caller.admission = {.outcome = Admission::Outcome::kRight, .shown = known_};
  } else {
    caller = api_.identify(request, client_.source);
  }
  if (caller.has_shown_password()) known_ = caller.admission.shown;
  caller.is_reserved = client_.is_reserved;
  caller.may_be_named = client_.may_be_named;
  return caller;
}

// A connection that is kept for the admin has to be the admin's.
bool HttpSession::is_stranger() const {
  const Doorkeeper* const doorkeeper = api_.doorkeeper();
  const bool is_known = known_.is_any() && doorkeeper->still_holds(known_);
  if (client_.is_reserved) return !is_known || known_.identity.role != Role::kAdmin;
  return !is_known && doorkeeper != nullptr && doorkeeper->is_needed();
}

bool HttpSession::refuse_body(std::string_view input, base::Output& output, Next& next) {
  if (!is_stranger() || caller_ || !parser_.has_head()) return false;
  const wire::HttpRequest& request = parser_.read_head(input);
  caller_ = identify(request);
  const auto refusal = api_.refuse_head(request, *caller_);
  if (!refusal) return false;
  metrics_.http_requests.add();
  ++requests_;
  wire::HttpRequest last = request;  // The rest of it is not read.
  last.keeps_alive = false;
  next = finish(last, *caller_, *refusal, output);
  return true;
}

// The request is read again from a copy of its bytes: the input buffer is not its own.
bool HttpSession::answer_beside(std::string_view bytes, const Route& route, const HttpCaller& caller) {
  beside_ = std::make_shared<const std::string>(bytes);
  const auto work = [&api = api_, caller, limits = limits_, waiting = std::weak_ptr(beside_)] {
    std::string answer;
    const auto copy = waiting.lock();
    if (copy == nullptr) return answer;  // The client has gone, and nobody wants one.
    wire::HttpRequestParser parser(limits);
    CHECK(parser.parse(*copy) == wire::HttpRequestParser::Outcome::kComplete);
    NoDecisions decisions;
    wire::HttpDate date;
    wire::HttpDelivery delivery = delivery_of(parser.request());
    delivery.date = date.at(api.now());
    store::Execution execution;
    wire::write_response(api.handle(parser.request(), caller, decisions, execution), delivery, answer);
    return answer;
  };
  return later_.run_beside(route.access == Access::kAdmin, work, beside_->capacity());
}

std::size_t HttpSession::buffered_bytes() const {
  return buffer_.capacity() + (beside_ == nullptr ? 0 : beside_->capacity());
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
  if (buffer_.capacity() > kBufferBytesKept) std::string().swap(buffer_);  // An assignment may keep the memory.
}

}  // namespace mete::server
