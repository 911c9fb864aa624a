// `mete hold`, `commit`, `cancel` and `extend`.
#include <ostream>

#include "base/try.h"
#include "cli/client/target.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/decisions/charges.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/answers.h"

namespace mete::cli {

namespace {

void print_hold(const core::Hold& hold, const core::Verdict& verdict, const Invocation& invocation, Console& console) {
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      if (verdict.is_allowed) writer.member("id", hold.id);
      wire::write_decision(writer, verdict, hold.charges, false);
    });
  } else if (verdict.is_allowed) {
    print_fields({{"held", standing_text(verdict)}, {"id", printable(hold.id)}}, console.out);
  } else {
    console.out << denial_text(verdict, hold.charges) << '\n';
  }
}

Result<int> run_hold(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  std::string id = TRY(read_id(invocation));
  const bool is_id_random = id.empty();
  auto target = TRY(Target::open(invocation, console));
  if (is_id_random) id = target.store().new_hold_id(*charges);
  const std::string tag = invocation.value("tag", console);
  const core::Hold hold{.charges = *charges,
                        .ttl = invocation.duration("ttl", console),
                        .id = id,
                        .is_id_random = is_id_random,
                        .tag = tag};
  const auto verdict = TRY(target.hold(hold));
  print_hold(hold, verdict, invocation, console);
  return verdict.is_allowed ? kExitDone : kExitNo;
}

Result<int> run_commit(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  return print_settlement(target.commit({invocation.arguments[0], invocation.numbers(1), invocation.is_on("overage")}),
                          "committed", invocation, console);
}

Result<int> run_cancel(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  return print_settlement(target.cancel(invocation.arguments[0]), "returned", invocation, console);
}

Result<int> run_extend(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  const auto expires_in = TRY(target.extend(invocation.arguments[0], invocation.duration("ttl", console)));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { writer.member("expires_in_ms", expires_in.ms()); });
  } else {
    console.out << "expires " << moment_text(expires_in.ms()) << '\n';
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
      .options = target_options(
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
          .options = target_options({{.name = "overage", .help = "May be more than is held, if the difference fits"}}),
          .examples = {{"mete commit job-7 8", "Pay for 8, and return the rest"}},
          .run = run_commit};
}

Command cancel_command() {
  return {.name = "cancel",
          .summary = "Give back what was held",
          .arguments = {hold_argument()},
          .options = target_options(),
          .run = run_cancel};
}

Command extend_command() {
  return {.name = "extend",
          .summary = "Let a hold last longer",
          .arguments = {hold_argument()},
          .options = target_options({ttl_option()}),
          .examples = {{"mete extend job-7 --ttl 1h", "One hour from now"}},
          .run = run_extend};
}

}  // namespace mete::cli
