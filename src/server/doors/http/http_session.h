// HttpSession: one client's conversation in HTTP/1.x: requests in, answers out in their order, no I/O.
//
// Pipelined requests are answered as long as there is room for answers; what is left waits in the input. An answer to a
// request that could not be read is the last one: nobody knows where the next request starts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/session.h"
#include "server/decisions/sync_gate.h"
#include "server/decisions/wait_queue.h"
#include "server/doors/http/api.h"
#include "server/observation/metrics.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace mete::server {

// How a session gets answers to its connection that do not come at once; without these, all do.
struct HttpLater {
  // Runs `work` beside the event loop, and sends what it returns; false if too much is waiting already. `is_admins`:
  // the admin alone may ask for it. `bytes`: what waits with it.
  std::function<bool(bool is_admins, std::function<std::string()> work, std::size_t bytes)> run_beside;
  // Lets a take wait, and sends what `write` makes of its verdict: on another loop's thread, maybe.
  using Write = std::function<std::string(const Result<core::Verdict>& verdict, DecisionObserver& observer)>;
  std::function<void(std::shared_ptr<const WaitQueue::Waiter> waiter, Write write)> wait;
  // The client that waits has gone.
  std::function<void()> cancel_wait;
  // Sends the bytes after a while: guessing passwords takes time.
  std::function<void(std::string bytes)> answer_late;
  // Answers wait here for what they tell of to be on disk.
  SyncGate* gate = nullptr;
};

// What is known of a client before its first request.
struct HttpClient {
  GuessSource source = {};
  bool is_reserved = false;   // see HttpCaller
  bool may_be_named = false;  // see HttpCaller
};

// Whom a session tells what its client does that it should not.
struct HttpReports {
  std::function<void(Admission::Outcome outcome)> wrong_password;
  std::function<void(std::string_view reason)> protocol_error;
};

class HttpSession final : public net::Session {
 public:
  HttpSession(const HttpApi& api, LoopMetrics& metrics, const wire::HttpLimits& limits = {}, HttpLater later = {},
              HttpReports reports = {}, const HttpClient& client = {})
      : api_(api),
        metrics_(metrics),
        limits_(limits),
        parser_(limits),
        later_(std::move(later)),
        reports_(std::move(reports)),
        client_(client) {}
  ~HttpSession() override {
    if (is_waiting_) later_.cancel_wait();
  }

  Received receive(std::string_view input, base::Output& output, std::size_t output_max) override;
  // A request that never came to its end is answered with 408; a client that was idle just sees the connection close.
  void on_timeout(base::Output& output) override;
  void on_lost(base::Output& output) override;
  [[nodiscard]] bool is_stranger() const override;
  [[nodiscard]] std::size_t buffered_bytes() const override;
  // A take must not wait on for a client that has gone.
  [[nodiscard]] bool answers_half_closed() const override { return !is_waiting_; }

 private:
  Received answer_all(std::string_view input, base::Output& output, std::size_t output_max);
  Next answer_request(std::string_view bytes, base::Output& output);
  // Who sends this request. The token of the last one is not looked at again.
  HttpCaller identify(const wire::HttpRequest& request);
  // Whether a body that has begun to come is not wanted: then the answer is on its way.
  bool refuse_body(std::string_view input, base::Output& output, Next& next);
  Next finish(const wire::HttpRequest& request, const HttpCaller& caller, const wire::HttpResponse& response,
              base::Output& output);
  bool answer_beside(std::string_view bytes, const Route& route, const HttpCaller& caller);
  void wait(const wire::HttpRequest& request, const std::shared_ptr<const WaitQueue::Waiter>& waiter);
  void answer_failure(base::Output& output);
  void write(const wire::HttpResponse& response, const wire::HttpDelivery& delivery, base::Output& output);

  const HttpApi& api_;
  LoopMetrics& metrics_;
  const wire::HttpLimits limits_;
  wire::HttpRequestParser parser_;
  HttpLater later_;
  HttpReports reports_;
  const HttpClient client_;
  mutable Shown known_ = {};          // the right token of the last request
  std::optional<HttpCaller> caller_;  // of the request under way, once its head has been looked at
  bool closes_after_answer_ = false;  // which comes late
  bool is_waiting_ = false;           // for a take
  wire::HttpDate date_;
  std::string buffer_;  // an answer on its way to the output; kept for its memory, unless that is much
  std::shared_ptr<const std::string> beside_;  // the request that is answered beside the event loop
  bool has_continued_ = false;
  store::Execution execution_;  // of the requests of that call
  // Of the call of receive() that is under way.
  std::uint64_t requests_ = 0;
  bool is_question_answered_ = false;  // something was asked that the client may ask
};

}  // namespace mete::server
