// CLIENT and its subcommands.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/service.h"
#include "server/running/worker.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

bool is_printable_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return byte > ' ' && byte <= '~'; });
}

// Which clients are meant; what is not given leaves none out.
struct ClientFilter {
  std::vector<std::uint64_t> ids;
  std::string_view address;
  std::string_view local_address;
  std::string_view user;
  bool is_for_normal = true;  // all clients here are: TYPE with any other leaves none
  bool skips_me = false;

  [[nodiscard]] bool fits(const Client& client) const {
    const bool is_listed = ids.empty() || std::find(ids.begin(), ids.end(), client.id) != ids.end();
    return is_for_normal && is_listed && (address.empty() || client.address == address) &&
           (local_address.empty() || client.local_address == local_address) &&
           (user.empty() || user_of(client) == user);
  }
};

Result<void> read_type(std::string_view word, ClientFilter& filter) {
  constexpr std::array<std::string_view, 5> kTypes = {"normal", "master", "replica", "slave", "pubsub"};
  const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                        [&](std::string_view name) { return wire::equals_ignoring_case(name, word); });
  if (type == kTypes.end()) return base::invalid(fmt::format("Unknown client type {}", wire::single_quote(word)));
  filter.is_for_normal = type == kTypes.begin();
  return {};
}

Result<void> read_id(std::string_view word, std::string_view otherwise, ClientFilter& filter) {
  const auto id = wire::parse_integer(word);
  if (!id || *id < 1) return base::invalid(std::string(otherwise));
  filter.ids.push_back(static_cast<std::uint64_t>(*id));
  return {};
}

// One filter of CLIENT KILL.
Result<void> read_kill_filter(std::string_view name, std::string_view value, ClientFilter& filter) {
  const auto is = [&](std::string_view token) { return wire::equals_ignoring_case(name, token); };
  const bool is_yes = wire::equals_ignoring_case(value, "yes");
  if (is("ID")) {
    filter.ids.clear();
    return read_id(value, "client-id should be greater than 0", filter);
  }
  if (is("TYPE")) return read_type(value, filter);
  if (is("USER")) {
    if (value != kDefaultUser && !base::named<Role>(kRoleNames, value))
      return base::invalid(fmt::format("No such user {}", wire::single_quote(value)));
    filter.user = value;
  } else if (is("ADDR")) {
    filter.address = value;
  } else if (is("LADDR")) {
    filter.local_address = value;
  } else if (is("SKIPME") && (is_yes || wire::equals_ignoring_case(value, "no"))) {
    filter.skips_me = is_yes;
  } else {
    return base::invalid("syntax error");
  }
  return {};
}

// How many have been closed.
std::int64_t kill(CommandContext& context, const ClientFilter& filter) {
  std::int64_t killed = 0;
  context.service.clients.for_each([&](const Client& client) {
    const bool is_me = client.id == context.session->client().id;
    if (!filter.fits(client) || (is_me && filter.skips_me)) return;
    ++killed;
    if (is_me) {
      context.session->close_after_reply();
    } else {
      client.worker->reach(client.id, [](net::Connection& connection) { connection.close(); });
    }
  });
  return killed;
}

Result<void> read_list_filter(std::span<const std::string_view> words, ClientFilter& filter) {
  if (words.empty()) return {};
  if (words.size() == 2 && wire::equals_ignoring_case(words[0], "TYPE")) return read_type(words[1], filter);
  if (words.size() < 2 || !wire::equals_ignoring_case(words[0], "ID")) return base::invalid("syntax error");
  for (const std::string_view word : words.subspan(1)) {
    TRY(read_id(word, "Invalid client ID", filter));
  }
  return {};
}

}  // namespace

bool refuses_client_name(CommandContext& context, std::string_view name) {
  const bool is_bad = !is_printable_word(name);
  if (is_bad) context.reply.error("ERR", "Client names cannot contain spaces, newlines or special characters.");
  return is_bad;
}

void set_client_name(CommandContext& context, std::string_view name) {
  context.service.clients.change(context.session->client(), [&](Client& client) { client.name = name; });
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
  if (refuses_client_name(context, context.arguments.text(0))) return;
  set_client_name(context, context.arguments.text(0));
  context.reply.ok();
}

void client_setinfo(CommandContext& context) {
  const std::string_view attribute = context.arguments.text(0);
  const std::string_view value = context.arguments.text(1);
  const bool is_name = wire::equals_ignoring_case(attribute, "LIB-NAME");
  if (!is_name && !wire::equals_ignoring_case(attribute, "LIB-VER")) {
    context.reply.error("ERR", fmt::format("Unrecognized option {}", wire::single_quote(attribute)));
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
  ClientFilter filter;
  if (has_failed(context, read_list_filter(context.arguments.rest(), filter))) return;
  const std::uint64_t now_ns = context.session->worker().loop.now_ns();
  std::string text;
  context.service.clients.for_each([&](const Client& client) {
    if (filter.fits(client)) text += describe(client, now_ns) + "\n";
  });
  context.reply.verbatim(text);
}

void client_info(CommandContext& context) {
  context.reply.verbatim(describe(context.session->client(), context.session->worker().loop.now_ns()) + "\n");
}

// An address alone is Redis's old form, which may be one's own and answers OK.
void client_kill(CommandContext& context) {
  const auto words = context.arguments.rest();
  if (words.size() == 1) {
    ClientFilter filter;
    filter.address = words[0];
    if (kill(context, filter) > 0) {
      context.reply.ok();
    } else {
      context.reply.error("ERR", "No such client");
    }
    return;
  }
  ClientFilter filter;
  filter.skips_me = true;
  for (std::size_t index = 0; index < words.size(); index += 2) {
    const auto read = index + 1 < words.size() ? read_kill_filter(words[index], words[index + 1], filter)
                                               : base::invalid("syntax error");
    if (has_failed(context, read)) return;
  }
  context.reply.integer(kill(context, filter));
}

}  // namespace mete::server::commands
