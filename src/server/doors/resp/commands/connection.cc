// PING, ECHO, HELLO, AUTH, QUIT, RESET, SELECT.
#include <fmt/format.h>

#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/service.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

// "default" is Redis's name for the only user there is; the roles' own names do as well, if they fit the password.
// Where no password is needed, any will do for "default".
Admission admit(CommandContext& context, std::string_view user, std::string_view password) {
  Doorkeeper& doorkeeper = context.service.doorkeeper;
  const bool is_default = user == kDefaultUser;
  if (!doorkeeper.is_needed()) {
    if (!is_default) return {};
    return {.outcome = Admission::Outcome::kRight, .shown = {{Role::kAdmin, 0}, doorkeeper.generation()}};
  }
  const Admission admission = doorkeeper.admit(password, context.session->client().source);
  if (admission.is_right() && !is_default && user != to_string(admission.shown.identity.role)) return {};
  return admission;
}

void refuse_password(CommandContext& context, const Admission& admission) {
  const std::string& address = context.session->client().address;
  const std::size_t position = context.reply.position();
  if (admission.outcome == Admission::Outcome::kNotLookedAt) {
    context.service.security.note_not_looked_at(address);
    context.reply.error("WRONGPASS", fmt::format("too many wrong passwords from this address: this one was not looked "
                                                 "at; try again in {}s",
                                                 admission.wait.seconds()));
  } else {
    context.service.security.note_wrong_password(address);
    context.reply.error("WRONGPASS", "invalid username-password pair or user is disabled.");
  }
  context.session->delay_reply(position);
}

// What the client may do from here on; false: it was refused.
bool authenticate(CommandContext& context, std::string_view user, std::string_view password) {
  const Admission admission = admit(context, user, password);
  if (!admission.is_right()) {
    refuse_password(context, admission);
    return false;
  }
  if (!context.session->may_stay_with(admission.shown.identity.role)) {
    context.reply.error("ERR", "max number of clients reached");
    context.session->close_after_reply();
    return false;
  }
  context.session->set_role(admission.shown);
  return true;
}

void write_greeting(CommandContext& context) {
  wire::RespWriter& reply = context.reply;
  reply.map(7);
  reply.bulk("server");
  reply.bulk("mete");
  reply.bulk("version");
  reply.bulk(METE_VERSION);
  reply.bulk("proto");
  reply.integer(static_cast<int>(reply.version()));
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(context.session->client().id));
  reply.bulk("mode");
  reply.bulk("standalone");
  reply.bulk("role");
  reply.bulk("master");
  reply.bulk("modules");
  reply.array(0);
}

}  // namespace

void ping(CommandContext& context) {
  if (context.arguments.has(0)) {
    context.reply.bulk(context.arguments.text(0));
  } else {
    context.reply.simple("PONG");
  }
}

void echo(CommandContext& context) { context.reply.bulk(context.arguments.text(0)); }

void hello(CommandContext& context) {
  auto rest = context.arguments.rest();
  std::optional<wire::RespVersion> version;
  if (!rest.empty()) {
    const auto number = wire::parse_integer(rest[0]);
    if (!number) {
      context.reply.error("ERR", "Protocol version is not an integer or out of range");
      return;
    }
    if (*number != 2 && *number != 3) {
      context.reply.error("NOPROTO", "unsupported protocol version");
      return;
    }
    version = static_cast<wire::RespVersion>(*number);
    rest = rest.subspan(1);
  }
  std::optional<std::string_view> name;
  std::span<const std::string_view> credentials;
  while (!rest.empty()) {
    if (wire::equals_ignoring_case(rest[0], "AUTH") && rest.size() >= 3) {
      credentials = rest.subspan(1, 2);
      rest = rest.subspan(3);
    } else if (wire::equals_ignoring_case(rest[0], "SETNAME") && rest.size() >= 2) {
      name = rest[1];
      rest = rest.subspan(2);
    } else {
      context.reply.error("ERR", fmt::format("Syntax error in HELLO option {}", wire::single_quote(rest[0])));
      return;
    }
  }
  if (name && refuses_client_name(context, *name)) return;
  if (!credentials.empty() && !authenticate(context, credentials[0], credentials[1])) return;
  if (!context.session->role()) {
    context.reply.error("NOAUTH",
                        "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
                        "<user> <pass> option can be used to authenticate the client and select the RESP protocol "
                        "version at the same time");
    return;
  }
  if (name) set_client_name(context, *name);
  if (version) {
    context.session->set_version(*version);
    context.reply.set_version(*version);
  }
  write_greeting(context);
}

void auth(CommandContext& context) {
  const auto words = context.arguments.rest();
  if (words.size() > 2) {
    context.reply.error("ERR", "syntax error");
    return;
  }
  if (words.size() == 1 && !context.service.doorkeeper.is_needed()) {
    context.reply.error("ERR",
                        "AUTH <password> called without any password configured for the default user. Are you "
                        "sure your configuration is correct?");
    return;
  }
  if (authenticate(context, words.size() == 2 ? words[0] : kDefaultUser, words.back())) context.reply.ok();
}

void quit(CommandContext& context) {
  context.reply.ok();
  context.session->close_after_reply();
}

void reset(CommandContext& context) {
  context.session->reset();
  context.reply.set_version(wire::RespVersion::k2);
  context.reply.simple("RESET");
}

void select(CommandContext& context) {
  if (context.arguments.integer(0) == 0) {
    context.reply.ok();
  } else {
    context.reply.error("ERR", "DB index is out of range");
  }
}

}  // namespace mete::server::commands
