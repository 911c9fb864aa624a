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
std::optional<Role> authenticate(const Service& service, std::string_view user, std::string_view password) {
  if (!service.authentication.is_needed()) return user == "default" ? std::optional(Role::kAdmin) : std::nullopt;
  const auto role = service.authentication.role_of(password);
  if (!role) return std::nullopt;
  if (user == "default" || (user == "admin" && role == Role::kAdmin) || (user == "use" && role == Role::kUse))
    return role;
  return std::nullopt;
}

void refuse_password(CommandContext& context) {
  context.service.security.note_wrong_password(context.session->client().address);
  const std::size_t position = context.reply.position();
  context.reply.error("WRONGPASS", "invalid username-password pair or user is disabled.");
  context.session->delay_reply(position);
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
  auto role = context.session->role();
  if (!credentials.empty()) {
    role = authenticate(context.service, credentials[0], credentials[1]);
    if (!role) {
      refuse_password(context);
      return;
    }
  }
  if (!role) {
    context.reply.error("NOAUTH",
                        "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
                        "<user> <pass> option can be used to authenticate the client and select the RESP protocol "
                        "version at the same time");
    return;
  }
  context.session->set_role(role);
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
  if (words.size() == 1 && !context.service.authentication.is_needed()) {
    context.reply.error("ERR",
                        "AUTH <password> called without any password configured for the default user. Are you "
                        "sure your configuration is correct?");
    return;
  }
  const auto role = authenticate(context.service, words.size() == 2 ? words[0] : "default", words.back());
  if (!role) {
    refuse_password(context);
    return;
  }
  context.session->set_role(role);
  context.reply.ok();
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
