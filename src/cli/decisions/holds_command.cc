// `mete holds`: the holds of a key or of a tag, or one of them.
#include <ostream>

#include "base/errors.h"
#include "base/try.h"
#include "cli/client/target.h"
#include "cli/commands.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/answers.h"

namespace mete::cli {

namespace {

// As the server does for HOLDS.
constexpr std::int64_t kHoldsListedMax = 100'000;

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
  auto target = TRY(Target::open(invocation, console));
  const auto hold = TRY(target.find_hold(id));
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
template <class List>
Result<std::vector<HoldInfo>> find_holds(Target& target, const List& list) {
  const auto ids = TRY(target.run(list));
  std::vector<HoldInfo> holds;
  for (const std::string& id : ids) {
    auto hold = TRY(target.find_hold(id));
    if (hold) holds.push_back(std::move(*hold));
  }
  return holds;
}

template <class List>
Result<int> show_holds(const List& list, const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  const auto holds = TRY(find_holds(target, list));
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
    return show_holds(core::ListTagged{*tag}, invocation, console);
  }
  if (given == 0) return fail_usage(invocation, console, "which holds? Give LIMIT KEY, --tag TEXT, or the ID of one");
  if (given == 1) return show_hold(invocation.argument(0), invocation, console);
  const std::int64_t count = invocation.number("count", console);
  if (count < 1 || count > kHoldsListedMax) {
    return base::invalid("COUNT must be from 1 to " + std::to_string(kHoldsListedMax));
  }
  const core::MeterName meter = {invocation.arguments[0], invocation.arguments[1]};
  return show_holds(core::ListHolds{meter, static_cast<std::size_t>(count)}, invocation, console);
}

}  // namespace

Command holds_command() {
  return {
      .name = "holds",
      .summary = "List the holds of a key or with a tag, or show one",
      .arguments = {{.name = "ID|LIMIT", .help = "Alone: the hold to show. Before KEY: the limit", .is_optional = true},
                    {.name = "KEY", .help = "Whose holds", .is_optional = true}},
      .options = target_options({{"tag", ValueKind::kText, "TEXT", "List the holds with this mark"},
                                 {"count", ValueKind::kNumber, "N", "List at most so many, of a key", "100"}}),
      .examples = {{"mete holds credits alice", "What is held of Alice's credits"},
                   {"mete holds --tag 'job 7'", "What one job holds"},
                   {"mete holds job-7", "One hold: its state, when it expires, what it holds"}},
      .run = run_holds};
}

}  // namespace mete::cli
