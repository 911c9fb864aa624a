// HttpSession: one client's conversation in HTTP/1.x: requests in, answers out in their order, no I/O.
//
// Pipelined requests are answered as long as there is room for answers; what is left waits in the input. An answer to a
// request that could not be read is the last one: nobody knows where the next request starts.
#pragma once

#include <string>

#include "net/session.h"
#include "server/http_api.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace mete::server {

class HttpSession final : public net::Session {
 public:
  HttpSession(const HttpApi& api, DecisionObserver& observer, const wire::HttpLimits& limits = {})
      : api_(api), observer_(observer), parser_(limits) {}

  Received receive(std::string_view input, base::Output& output, std::size_t output_max) override;
  // A request that never came to its end is answered with 408; a client that was idle just sees the connection close.
  void on_timeout(base::Output& output) override;

 private:
  // Returns whether the connection stays open.
  bool answer_request(base::Output& output);
  void answer_failure(base::Output& output);
  void write(const wire::HttpResponse& response, const wire::HttpDelivery& delivery, base::Output& output);

  const HttpApi& api_;
  DecisionObserver& observer_;
  wire::HttpRequestParser parser_;
  wire::HttpDate date_;
  std::string buffer_;  // an answer on its way to the output; kept for its memory
  bool has_continued_ = false;
};

}  // namespace mete::server
