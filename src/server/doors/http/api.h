// HttpApi: a request in, the answer out. No I/O of its own: what happens is between it and the store.
//
// In this order: the path finds its routes or 404, the method one of them or 405, the token must allow it (401, 403),
// then the query (400), the body's type (415) and the body (400) are checked, and the route's handler does the rest.
//
// Ownership: the store must outlive it. Thread safety: handle() from any thread.
#pragma once

#include "server/doors/http/route.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace mete::server {

class HttpApi {
 public:
  HttpApi(store::Store& store, HttpHooks hooks) : store_(store), hooks_(std::move(hooks)) {}

  // Whether handling it may take time in proportion to all that the store keeps.
  [[nodiscard]] bool is_slow(const wire::HttpRequest& request) const;
  [[nodiscard]] wire::HttpResponse handle(const wire::HttpRequest& request, DecisionObserver& observer,
                                          store::Execution& execution) const;

  // The store's time.
  [[nodiscard]] Instant now() const { return store_.now(); }

 private:
  [[nodiscard]] wire::HttpResponse answer(const wire::HttpRequest& request, DecisionObserver& observer,
                                          store::Execution& execution) const;
  // The problem if the request's token does not allow it.
  [[nodiscard]] std::optional<wire::HttpResponse> refuse(const wire::HttpRequest& request, Access access) const;

  store::Store& store_;
  HttpHooks hooks_;
};

}  // namespace mete::server
