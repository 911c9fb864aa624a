// `mete hold`, `commit`, `cancel` and `extend`.
#include <ostream>

#include "base/try.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/decisions/charges.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

// `cost` as for denial_text.
void print_hold(const HoldDecision& hold, Amount cost, const Invocation& invocation, Console& console) {
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      if (hold.is_allowed) writer.member("id", hold.id);
      write_decision(hold, writer);
    });
  } else if (hold.is_allowed) {
    print_fields({{"held", standing_text(hold)}, {"id", printable(hold.id)}}, console.out);
  } else {
    console.out << denial_text(hold, cost) << '\n';
  }
}

Result<int> run_hold(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  std::vector<std::string> words = words_of("HOLD", *charges);
  words.insert(words.end(), {"TTL", invocation.value("ttl", console)});
  if (const auto id = invocation.given("id")) words.insert(words.end(), {"ID", *id});
  if (const auto tag = invocation.given("tag")) words.insert(words.end(), {"TAG", *tag});
  const auto reply = TRY(ask(invocation, console, words));
  const auto hold = TRY(read_decision(reply, true));
  print_hold(hold, only_cost(*charges), invocation, console);
  return hold.is_allowed ? kExitDone : kExitNo;
}

Result<int> run_commit(const Invocation& invocation, Console& console) {
  std::vector<std::string> words = {"COMMIT"};
  words.insert(words.end(), invocation.arguments.begin(), invocation.arguments.end());
  if (invocation.is_on("overage")) words.emplace_back("OVERAGE");
  return print_settlement(ask(invocation, console, words), "committed", invocation, console);
}

Result<int> run_cancel(const Invocation& invocation, Console& console) {
  return print_settlement(ask(invocation, console, {"CANCEL", invocation.argument(0)}), "returned", invocation,
                          console);
}

Result<int> run_extend(const Invocation& invocation, Console& console) {
  const auto reply =
      TRY(ask(invocation, console, {"EXTEND", invocation.argument(0), "TTL", invocation.value("ttl", console)}));
  ReplyReader reader(reply);
  const std::int64_t expires_in_ms = reader.integer();
  TRY(reader.finish());
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { writer.member("expires_in_ms", expires_in_ms); });
  } else {
    console.out << "expires " << moment_text(expires_in_ms) << '\n';
  }
  return kExitDone;
}

Option ttl_option() {
  return {.name = "ttl",
          .kind = ValueKind::kDuration,
          .value_name = "DURATION",
          .help = "How long, from now, the hold lasts if nobody ends it",
          .is_required = true};
}

Argument hold_argument() { return {.name = "ID", .help = "The hold, as 'mete hold' told it"}; }

}  // namespace

Command hold_command() {
  return {
      .name = "hold",
      .summary = "Set an amount aside while something runs, and pay later for what it took",
      .description = {"Then 'mete commit' pays for all or a part of it, and 'mete cancel' gives it back. A hold that "
                      "nobody ends expires, which gives it back too."},
      .arguments = charge_arguments(),
      .options = client_options(
          {cost_option(),
           ttl_option(),
           {"id", ValueKind::kText, "ID", "A name for the hold: sent again with the same one, it is held once"},
           {"tag", ValueKind::kText, "TEXT", "A mark to find it by, which other holds may have too"}}),
      .examples = {{"mete hold credits alice --cost 10 --ttl 1h --tag 'job 7'", "Ten credits for a job"}},
      .statuses = {{kExitDone, "held"}, {kExitNo, "denied; nothing is held"}},
      .run = run_hold};
}

Command commit_command() {
  return {.name = "commit",
          .summary = "Pay for what was held",
          .arguments = {hold_argument(),
                        {.name = "AMOUNT",
                         .help = "How much of each charge, in the order of the hold; the rest is returned. Absent: all",
                         .kind = ValueKind::kNumber,
                         .is_optional = true,
                         .is_repeated = true}},
          .options = client_options({{.name = "overage", .help = "May be more than is held, if the difference fits"}}),
          .examples = {{"mete commit job-7 8", "Pay for 8, and return the rest"}},
          .run = run_commit};
}

Command cancel_command() {
  return {.name = "cancel",
          .summary = "Give back what was held",
          .arguments = {hold_argument()},
          .options = client_options(),
          .run = run_cancel};
}

Command extend_command() {
  return {.name = "extend",
          .summary = "Let a hold last longer",
          .arguments = {hold_argument()},
          .options = client_options({ttl_option()}),
          .examples = {{"mete extend job-7 --ttl 1h", "One hour from now"}},
          .run = run_extend};
}

}  // namespace mete::cli
