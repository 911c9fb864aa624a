// `mete holds`: the holds of a key or of a tag, or one of them.
#include <optional>
#include <ostream>

#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

struct HeldAmount {
  std::string limit;
  std::string key;
  std::int64_t amount = 0;
};

struct Hold {
  std::string id;
  std::string state = {};
  std::int64_t expires_in_ms = 0;
  std::string tag = {};
  std::vector<HeldAmount> charges = {};
};

Result<std::vector<HeldAmount>> read_amounts(const wire::RespValue& list) {
  std::vector<HeldAmount> amounts;
  for (const wire::RespValue& each : list.elements) {
    ReplyReader reader(each);
    amounts.push_back({reader.text(), reader.text(), reader.integer()});
    if (const auto ok = reader.finish(); !ok) return tl::unexpected(ok.error());
  }
  return amounts;
}

Result<Hold> read_details(const std::string& id, const wire::RespValue& reply) {
  ReplyReader reader(reply);
  Hold hold{.id = id};
  while (reader.has_more()) {
    const std::string name = reader.text();
    if (name == "state") {
      hold.state = reader.text();
    } else if (name == "expires_in_ms") {
      hold.expires_in_ms = reader.integer();
    } else if (name == "tag") {
      hold.tag = reader.text();
    } else if (name == "charges") {
      auto amounts = read_amounts(reader.any());
      if (!amounts) return tl::unexpected(amounts.error());
      hold.charges = std::move(*amounts);
    } else {
      reader.any();  // a later server may have more to tell
    }
  }
  return reader.finish().map([&](Done) { return hold; });
}

// None if the server does not know it.
Result<std::optional<Hold>> find_hold(Client& client, const std::string& id) {
  const auto reply = client.call({"HOLD.GET", id});
  if (!reply) return tl::unexpected(reply.error());
  if (is_nil(*reply)) return std::nullopt;
  return read_details(id, *reply).map([](Hold hold) { return std::optional(std::move(hold)); });
}

std::string charges_text(const Hold& hold) {
  std::string text;
  for (const HeldAmount& each : hold.charges) {
    text +=
        (text.empty() ? "" : ", ") + printable(each.limit) + " " + printable(each.key) + " " + number_text(each.amount);
  }
  return text;
}

// Of a hold that is over there is nothing to say.
std::string expiry_text(const Hold& hold) { return hold.state == "held" ? moment_text(hold.expires_in_ms) : "-"; }
std::string tag_text(const Hold& hold) { return hold.tag.empty() ? "-" : printable(hold.tag); }

void write_hold(const Hold& hold, wire::JsonWriter& writer) {
  writer.member("id", hold.id).member("state", hold.state).member("expires_in_ms", hold.expires_in_ms);
  writer.member("tag", hold.tag).name("charges").begin_array();
  for (const HeldAmount& each : hold.charges) {
    writer.begin_object().member("limit", each.limit).member("key", each.key).member("amount", each.amount);
    writer.end_object();
  }
  writer.end_array();
}

int show_hold(const std::string& id, const Invocation& invocation, Console& console) {
  auto client = Client::open(invocation, console);
  if (!client) return fail(console, client.error().message);
  const auto hold = find_hold(*client, id);
  if (!hold) return fail(console, hold.error().message);
  if (!*hold) return fail(console, no_hold(id).message);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { write_hold(**hold, writer); });
  } else {
    print_fields({{"id", printable(id)},
                  {"state", (*hold)->state},
                  {"expires", expiry_text(**hold)},
                  {"tag", tag_text(**hold)},
                  {"charges", charges_text(**hold)}},
                 console.out);
  }
  return kExitDone;
}

// Those that end between the list and the look at them are left out.
Result<std::vector<Hold>> list_holds(const std::vector<std::string>& words, const Invocation& invocation,
                                     Console& console) {
  auto client = Client::open(invocation, console);
  if (!client) return tl::unexpected(client.error());
  const auto reply = client->call(words);
  if (!reply) return tl::unexpected(reply.error());
  std::vector<Hold> holds;
  ReplyReader reader(*reply);
  while (reader.has_more()) {
    auto hold = find_hold(*client, reader.text());
    if (!hold) return tl::unexpected(hold.error());
    if (*hold) holds.push_back(std::move(**hold));
  }
  return reader.finish().map([&](Done) { return holds; });
}

int show_holds(const std::vector<std::string>& words, const Invocation& invocation, Console& console) {
  const auto holds = list_holds(words, invocation, console);
  if (!holds) return fail(console, holds.error().message);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.name("holds").begin_array();
      for (const Hold& hold : *holds) {
        writer.begin_object();
        write_hold(hold, writer);
        writer.end_object();
      }
      writer.end_array();
    });
    return kExitDone;
  }
  if (holds->empty()) {
    console.out << "no holds\n";
    return kExitDone;
  }
  Table table({{"ID"}, {"STATE"}, {"EXPIRES"}, {"TAG"}, {"CHARGES"}});
  for (const Hold& hold : *holds) {
    table.add({printable(hold.id), hold.state, expiry_text(hold), tag_text(hold), charges_text(hold)});
  }
  table.print(console.out);
  return kExitDone;
}

int run_holds(const Invocation& invocation, Console& console) {
  const std::size_t given = invocation.arguments.size();
  const auto tag = invocation.given("tag");
  if (invocation.given("count") && given != 2) return fail_usage(invocation, console, "--count goes with LIMIT KEY");
  if (tag) {
    if (given > 0) return fail_usage(invocation, console, "--tag goes without LIMIT, KEY and ID");
    return show_holds({"HOLDS", "TAG", *tag}, invocation, console);
  }
  if (given == 0) return fail_usage(invocation, console, "which holds? Give LIMIT KEY, --tag TEXT, or the ID of one");
  if (given == 1) return show_hold(invocation.argument(0), invocation, console);
  return show_holds(
      {"HOLDS", invocation.argument(0), invocation.argument(1), "COUNT", invocation.value("count", console)},
      invocation, console);
}

}  // namespace

Command holds_command() {
  return {
      .name = "holds",
      .summary = "List the holds of a key or with a tag, or show one",
      .arguments = {{.name = "ID|LIMIT", .help = "Alone: the hold to show. Before KEY: the limit", .is_optional = true},
                    {.name = "KEY", .help = "Whose holds", .is_optional = true}},
      .options = client_options(
          {{.name = "tag", .kind = ValueKind::kText, .value_name = "TEXT", .help = "List the holds with this mark"},
           {.name = "count",
            .kind = ValueKind::kNumber,
            .value_name = "N",
            .help = "List at most so many, of a key",
            .default_text = "100"}}),
      .examples = {{"mete holds credits alice", "What is held of Alice's credits"},
                   {"mete holds --tag 'job 7'", "What one job holds"},
                   {"mete holds job-7", "One hold: its state, when it expires, what it holds"}},
      .run = run_holds};
}

}  // namespace mete::cli
