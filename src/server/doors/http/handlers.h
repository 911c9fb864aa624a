// What each route does. The request has been checked against its route; what is left is to do it and to tell.
#pragma once

#include "server/doors/http/route.h"

namespace mete::server {

// operations.cc
Result<wire::HttpResponse> handle_take(HttpCall& call);
Result<wire::HttpResponse> handle_check(HttpCall& call);
Result<wire::HttpResponse> handle_give(HttpCall& call);

// holds.cc
Result<wire::HttpResponse> handle_hold(HttpCall& call);
Result<wire::HttpResponse> handle_get_hold(HttpCall& call);
Result<wire::HttpResponse> handle_list_holds(HttpCall& call);
Result<wire::HttpResponse> handle_commit(HttpCall& call);
Result<wire::HttpResponse> handle_cancel(HttpCall& call);
Result<wire::HttpResponse> handle_extend(HttpCall& call);

// limits.cc
Result<wire::HttpResponse> handle_list_limits(HttpCall& call);
Result<wire::HttpResponse> handle_get_limit(HttpCall& call);
Result<wire::HttpResponse> handle_put_limit(HttpCall& call);
Result<wire::HttpResponse> handle_delete_limit(HttpCall& call);
Result<wire::HttpResponse> handle_put_override(HttpCall& call);
Result<wire::HttpResponse> handle_delete_override(HttpCall& call);
Result<wire::HttpResponse> handle_get_meter(HttpCall& call);
Result<wire::HttpResponse> handle_put_meter(HttpCall& call);
Result<wire::HttpResponse> handle_start_sync(HttpCall& call);
Result<wire::HttpResponse> handle_list_syncs(HttpCall& call);

// information.cc
Result<wire::HttpResponse> handle_health(HttpCall& call);
Result<wire::HttpResponse> handle_readiness(HttpCall& call);
Result<wire::HttpResponse> handle_metrics(HttpCall& call);
Result<wire::HttpResponse> handle_openapi(HttpCall& call);

}  // namespace mete::server
