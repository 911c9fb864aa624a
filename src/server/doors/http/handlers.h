// What each route does. The request has been checked against its route; what is left is to do it and to tell.
#pragma once

#include "server/doors/http/route.h"

namespace mete::server {

using Handle = Result<wire::HttpResponse>(HttpCall& call);

// operations.cc
Handle handle_take, handle_takes, handle_check, handle_give;

// holds.cc
Handle handle_hold, handle_get_hold, handle_list_holds, handle_commit, handle_cancel, handle_extend;

// limits.cc
Handle handle_list_limits, handle_get_limit, handle_put_limit, handle_delete_limit, handle_put_override,
    handle_delete_override, handle_get_meter, handle_put_meter, handle_start_sync, handle_list_syncs;

// information.cc
Handle handle_health, handle_readiness, handle_metrics, handle_openapi;

}  // namespace mete::server
