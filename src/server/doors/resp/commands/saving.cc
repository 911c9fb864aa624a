// SAVE, BGSAVE, LASTSAVE, SHUTDOWN.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/resp_session.h"
#include "server/observation/readings.h"
#include "server/running/service.h"

namespace mete::server::commands {

namespace {

// The arguments of SHUTDOWN, in the order of their declaration. NOW and FORCE are how it is done anyway.
enum ShutdownArgument : std::uint8_t { kNoSave, kSave };

// Null, and an error is replied, where the store keeps no files.
store::Persistence* persistence_of(CommandContext& context) {
  store::Persistence* const persistence = context.store.store().persistence();
  if (persistence == nullptr)
    context.reply.error("ERR", "nothing to save to: the data is in memory only, or in a store of its own");
  return persistence;
}

}  // namespace

void save(CommandContext& context) {
  store::Persistence* const persistence = persistence_of(context);
  if (persistence == nullptr) return;
  if (has_failed(context, persistence->save())) return;
  context.reply.ok();
}

// SCHEDULE changes nothing: it is for a server that would have to wait for something else to end first.
void bgsave(CommandContext& context) {
  store::Persistence* const persistence = persistence_of(context);
  if (persistence == nullptr) return;
  const auto is_started = persistence->start_saving();
  if (!is_started.has_value()) {
    context.reply.error(is_started.error());
  } else if (!*is_started) {
    context.reply.error("ERR", "Background save already in progress");
  } else {
    context.reply.simple("Background saving started");
  }
}

void lastsave(CommandContext& context) {
  context.reply.integer(static_cast<std::int64_t>(last_save_unix_seconds(context.service)));
}

// What is not saved is in the journal: so a snapshot is only written where it is asked for. If that fails the server
// goes on.
void shutdown(CommandContext& context) {
  if (!context.arguments.has(kSave)) {
    context.session->close_after_reply();
    context.service.shut_down();
    return;
  }
  store::Persistence* const persistence = persistence_of(context);
  if (persistence == nullptr) return;
  context.session->answer_beside([&service = context.service, persistence](wire::RespWriter& reply) {
    if (const auto saved = persistence->save(); !saved) {
      reply.error(saved.error());
      return;
    }
    service.shut_down();
  });
}

}  // namespace mete::server::commands
