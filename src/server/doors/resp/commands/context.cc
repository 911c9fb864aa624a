#include "server/doors/resp/commands/context.h"

#include "server/decisions/wait_queue.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/service.h"

namespace mete::server {

bool does_anyone_wait(const Service& service) { return service.waits.size() > 0; }

void nudge(Service& service, std::span<const Charge> charges) { service.waits.nudge(charges); }

void nudge_all(Service& service) { service.waits.nudge_all(); }

store::KeyReach reach_of(const CommandContext& context) {
  return context.is_admin ? store::KeyReach::kAnyKey : store::KeyReach::kAllButQuotas;
}

}  // namespace mete::server
