// HttpApi: a request in, the answer out. No I/O of its own: what happens is between it and the store.
//
// In this order: the path finds its routes or 404, the method one of them or 405, the token must allow it (401, 403),
// and it must not come from another's page (421, 403: browsers.h), then the query (400), the body's type (415) and the
// body (400) are checked, and the route's handler does the rest.
//
// Ownership: the store must outlive it. Thread safety: handle() from any thread.
#pragma once

#include "server/doors/http/route.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace mete::server {

std::optional<std::string_view> bearer_token(const wire::HttpRequest& request);

class HttpApi {
 public:
  HttpApi(store::Store& store, HttpHooks hooks) : store_(store), hooks_(std::move(hooks)) {}

  [[nodiscard]] Doorkeeper* doorkeeper() const { return hooks_.doorkeeper; }
  // Looks at the request's token: to be asked once for each.
  [[nodiscard]] HttpCaller identify(const wire::HttpRequest& request, const GuessSource& source) const;

  // Whether handling it may take time in proportion to all that the store keeps.
  [[nodiscard]] const Route* slow_route(const wire::HttpRequest& request, const HttpCaller& caller) const;
  // Why nothing of its body is wanted; none: it is.
  [[nodiscard]] std::optional<wire::HttpResponse> refuse_head(const wire::HttpRequest& request,
                                                              const HttpCaller& caller) const;
  [[nodiscard]] wire::HttpResponse handle(const wire::HttpRequest& request, const HttpCaller& caller,
                                          DecisionObserver& observer, store::Execution& execution,
                                          const HttpWait* wait = nullptr) const;
  // The answer to a take that has waited.
  [[nodiscard]] wire::HttpResponse answer_waited(const core::Take& take, const Result<core::Verdict>& verdict,
                                                 DecisionObserver& observer) const;

  // The store's time.
  [[nodiscard]] Instant now() const { return store_.now(); }

 private:
  [[nodiscard]] wire::HttpResponse answer(const wire::HttpRequest& request, const HttpCaller& caller,
                                          DecisionObserver& observer, store::Execution& execution,
                                          const HttpWait* wait) const;
  // The problem if the caller may not ask that, or is another's page.
  [[nodiscard]] std::optional<wire::HttpResponse> refuse(const wire::HttpRequest& request, const HttpCaller& caller,
                                                         const Route& route) const;
  [[nodiscard]] std::optional<wire::HttpResponse> refuse_page(const wire::HttpRequest& request,
                                                              const Route& route) const;

  store::Store& store_;
  HttpHooks hooks_;
};

}  // namespace mete::server
