#include "server/doors/resp/commands/context.h"

#include "server/doors/resp/resp_session.h"
#include "server/running/service.h"

namespace mete::server {

bool refuses_force(CommandContext& context, Mode mode) {
  const Role role = context.is_admin ? Role::kAdmin : Role::kUse;
  if (mode != Mode::kForce || context.service.doorkeeper.may_force(role)) return false;
  context.reply.error("NOPERM", "this password may not take by FORCE: see server.use_without_force");
  return true;
}

bool refuses_give(CommandContext& context) {
  if (context.service.doorkeeper.may_give(context.is_admin ? Role::kAdmin : Role::kUse)) return false;
  context.reply.error("NOPERM", "this password may not give back: see server.use_without_give");
  return true;
}

store::KeyReach reach_of(const CommandContext& context) {
  return context.is_admin ? store::KeyReach::kAnyKey : store::KeyReach::kAllButQuotas;
}

bool refuses_pattern(CommandContext& context, std::string_view pattern) {
  constexpr std::size_t kPatternBytesMax = 1024;
  if (pattern.size() <= kPatternBytesMax) return false;
  context.reply.error("ERR", "a pattern may have " + std::to_string(kPatternBytesMax) + " bytes");
  return true;
}

}  // namespace mete::server
