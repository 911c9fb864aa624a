// `mete holds`: the holds of a key or of a tag, or one of them.
#include <optional>
#include <ostream>

#include "base/try.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/answers.h"

namespace mete::cli {

namespace {

// None if the server does not know it.
Result<std::optional<HoldInfo>> find_hold(Client& client, const std::string& id) {
  const auto reply = TRY(client.call({"HOLD.GET", id}));
  if (is_nil(reply)) return std::nullopt;
  ReplyReader reader(reply);
  HoldInfo hold;
  hold.id = id;
  reader.read_pairs(hold);
  return reader.finish().map([&] { return std::optional(hold); });
}

std::string charges_text(const HoldInfo& hold) {
  std::string text;
  for (const HeldCharge& each : hold.charges) {
    text +=
        (text.empty() ? "" : ", ") + printable(each.limit) + " " + printable(each.key) + " " + number_text(each.amount);
  }
  return text;
}

// Of a hold that is over there is nothing to say.
std::string expiry_text(const HoldInfo& hold) {
  return hold.state == HoldState::kHeld ? moment_text(hold.expires_in.ms()) : "-";
}
std::string tag_text(const HoldInfo& hold) { return hold.tag.empty() ? "-" : printable(hold.tag); }

Result<int> show_hold(const std::string& id, const Invocation& invocation, Console& console) {
  auto client = TRY(Client::open(invocation, console));
  const auto hold = TRY(find_hold(client, id));
  if (!hold) return no_hold(id);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { wire::write_members(writer.member("id", id), *hold); });
  } else {
    print_fields({{"id", printable(id)},
                  {"state", std::string(to_string(hold->state))},
                  {"expires", expiry_text(*hold)},
                  {"tag", tag_text(*hold)},
                  {"charges", charges_text(*hold)}},
                 console.out);
  }
  return kExitDone;
}

// Those that end between the list and the look at them are left out.
Result<std::vector<HoldInfo>> list_holds(const std::vector<std::string>& words, const Invocation& invocation,
                                         Console& console) {
  auto client = TRY(Client::open(invocation, console));
  const auto reply = TRY(client.call(words));
  std::vector<HoldInfo> holds;
  ReplyReader reader(reply);
  while (reader.has_more()) {
    auto hold = TRY(find_hold(client, reader.text()));
    if (hold) holds.push_back(std::move(*hold));
  }
  return reader.finish().map([&] { return holds; });
}

Result<int> show_holds(const std::vector<std::string>& words, const Invocation& invocation, Console& console) {
  const auto holds = TRY(list_holds(words, invocation, console));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.name("holds").begin_array();
      for (const HoldInfo& hold : holds) {
        wire::write_members(writer.begin_object().member("id", hold.id), hold).end_object();
      }
      writer.end_array();
    });
    return kExitDone;
  }
  if (holds.empty()) {
    console.out << "no holds\n";
    return kExitDone;
  }
  Table table({{"ID"}, {"STATE"}, {"EXPIRES"}, {"TAG"}, {"CHARGES"}});
  for (const HoldInfo& hold : holds) {
    table.add({printable(hold.id), std::string(to_string(hold.state)), expiry_text(hold), tag_text(hold),
               charges_text(hold)});
  }
  table.print(console.out);
  return kExitDone;
}

Result<int> run_holds(const Invocation& invocation, Console& console) {
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
      .options = client_options({{"tag", ValueKind::kText, "TEXT", "List the holds with this mark"},
                                 {"count", ValueKind::kNumber, "N", "List at most so many, of a key", "100"}}),
      .examples = {{"mete holds credits alice", "What is held of Alice's credits"},
                   {"mete holds --tag 'job 7'", "What one job holds"},
                   {"mete holds job-7", "One hold: its state, when it expires, what it holds"}},
      .run = run_holds};
}

}  // namespace mete::cli
