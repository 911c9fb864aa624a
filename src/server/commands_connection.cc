// PING, ECHO, HELLO, AUTH, QUIT, RESET, SELECT, CLIENT.
#include <fmt/format.h>

#include <algorithm>

#include "server/commands.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

enum HelloArgument : std::uint8_t { kProtocol, kUserAndPassword };

bool is_printable_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return byte > ' ' && byte <= '~'; });
}

// "default" is Redis's name for the only user there is; the roles' own names do as well, if they fit the password.
std::optional<Role> authenticate(const Service& service, std::string_view user, std::string_view password) {
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

void refuse_name(CommandContext& context) {
  context.reply.error("ERR", "Client names cannot contain spaces, newlines or special characters.");
}

void set_name(CommandContext& context, std::string_view name) {
  context.service.clients.change(context.session->client(), [&](Client& client) { client.name = name; });
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
      context.reply.error("ERR", fmt::format("Syntax error in HELLO option {}", wire::quote(rest[0])));
      return;
    }
  }
  if (name && !is_printable_word(*name)) {
    refuse_name(context);
    return;
  }
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
  if (name) set_name(context, *name);
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
  if (!context.service.authentication.is_needed()) {
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

void client_id(CommandContext& context) {
  context.reply.integer(static_cast<std::int64_t>(context.session->client().id));
}

void client_getname(CommandContext& context) {
  const std::string& name = context.session->client().name;
  if (name.empty()) {
    context.reply.null();
  } else {
    context.reply.bulk(name);
  }
}

void client_setname(CommandContext& context) {
  if (!is_printable_word(context.arguments.text(0))) {
    refuse_name(context);
    return;
  }
  set_name(context, context.arguments.text(0));
  context.reply.ok();
}

void client_setinfo(CommandContext& context) {
  const std::string_view attribute = context.arguments.text(0);
  const std::string_view value = context.arguments.text(1);
  const bool is_name = wire::equals_ignoring_case(attribute, "LIB-NAME");
  if (!is_name && !wire::equals_ignoring_case(attribute, "LIB-VER")) {
    context.reply.error("ERR", fmt::format("Unrecognized option {}", wire::quote(attribute)));
    return;
  }
  if (!is_printable_word(value)) {
    context.reply.error("ERR", fmt::format("{} cannot contain spaces, newlines or special characters.",
                                           is_name ? "lib-name" : "lib-ver"));
    return;
  }
  context.service.clients.change(context.session->client(),
                                 [&](Client& client) { (is_name ? client.library : client.library_version) = value; });
  context.reply.ok();
}

void client_list(CommandContext& context) {
  const std::uint64_t now_ns = context.session->worker().loop.now_ns();
  std::string text;
  context.service.clients.for_each([&](const Client& client) { text += describe(client, now_ns) + "\n"; });
  context.reply.verbatim(text);
}

void client_info(CommandContext& context) {
  context.reply.verbatim(describe(context.session->client(), context.session->worker().loop.now_ns()) + "\n");
}

// CLIENT KILL addr:port, or filters: ID n, ADDR a, LADDR a, SKIPME yes|no.
void client_kill(CommandContext& context) {
  const auto words = context.arguments.rest();
  const bool is_old_form = words.size() == 1;
  if (!is_old_form && words.size() % 2 != 0) {
    context.reply.error("ERR", "syntax error");
    return;
  }
  std::optional<std::int64_t> id;
  std::string_view address = is_old_form ? words[0] : std::string_view();
  std::string_view local_address;
  bool skips_me = !is_old_form;
  for (std::size_t index = 0; !is_old_form && index < words.size(); index += 2) {
    const std::string_view filter = words[index];
    const std::string_view value = words[index + 1];
    if (wire::equals_ignoring_case(filter, "ID")) {
      id = wire::parse_integer(value);
      if (!id || *id < 1) {
        context.reply.error("ERR", "client-id should be greater than 0");
        return;
      }
    } else if (wire::equals_ignoring_case(filter, "ADDR")) {
      address = value;
    } else if (wire::equals_ignoring_case(filter, "LADDR")) {
      local_address = value;
    } else if (wire::equals_ignoring_case(filter, "SKIPME") &&
               (wire::equals_ignoring_case(value, "yes") || wire::equals_ignoring_case(value, "no"))) {
      skips_me = wire::equals_ignoring_case(value, "yes");
    } else {
      context.reply.error("ERR", "syntax error");
      return;
    }
  }
  std::int64_t killed = 0;
  context.service.clients.for_each([&](const Client& client) {
    const bool is_me = client.id == context.session->client().id;
    if ((id && static_cast<std::uint64_t>(*id) != client.id) || (!address.empty() && client.address != address) ||
        (!local_address.empty() && client.local_address != local_address) || (is_me && skips_me)) {
      return;
    }
    ++killed;
    if (is_me) {
      context.session->close_after_reply();
      return;
    }
    client.worker->reach(client.id, [](net::Connection& connection) { connection.close(); });
  });
  if (!is_old_form) {
    context.reply.integer(killed);
  } else if (killed > 0) {
    context.reply.ok();
  } else {
    context.reply.error("ERR", "No such client");
  }
}

}  // namespace mete::server::commands
