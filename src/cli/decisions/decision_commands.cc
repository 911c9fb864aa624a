// `mete take`, `peek`, `give`, `usage` and `reconcile`.
#include <ostream>

#include "base/try.h"
#include "cli/client/target.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/decisions/charges.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

std::string decision_text(const core::Take& take, const core::Verdict& verdict) {
  const std::string mood = take.mode == Mode::kPeek ? "would be " : "";
  if (!verdict.is_allowed) return mood + denial_text(verdict, take.charges);
  std::string start = mood + "allowed  ";
  if (take.mode == Mode::kUpTo) {
    start = "took " + number_text(verdict.taken) + " of " + number_text(take.charges[0].cost) + ", ";
  }
  return start + standing_text(verdict);
}

Result<int> decide(const core::Take& take, Duration patience, const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console, patience));
  const auto verdict = TRY(target.take(take));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      wire::write_decision(writer, verdict, take.charges, take.mode == Mode::kUpTo);
    });
  } else {
    console.out << decision_text(take, verdict) << '\n';
  }
  return verdict.is_allowed ? kExitDone : kExitNo;
}

Result<int> run_take(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  if (invocation.is_on("up-to") && invocation.is_on("force")) {
    return fail_usage(invocation, console, "--force takes all, and --up-to what fits: give one of them");
  }
  const auto id = TRY(read_id(invocation));
  core::Take take = {.charges = *charges, .id = id};
  if (invocation.is_on("force")) take.mode = Mode::kForce;
  if (invocation.is_on("up-to")) take.mode = Mode::kUpTo;
  return decide(take, invocation.duration("wait", console), invocation, console);
}

Result<int> run_peek(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  return decide({.charges = *charges, .mode = Mode::kPeek}, Duration(), invocation, console);
}

Result<int> run_give(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  const auto id = TRY(read_id(invocation));
  auto target = TRY(Target::open(invocation, console));
  return print_settlement(target.give(*charges, id), "returned", invocation, console);
}

Result<int> run_usage(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  const auto usage = TRY(target.usage({invocation.arguments[0], invocation.arguments[1]}));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { wire::write_members(writer, usage); });
    return kExitDone;
  }
  Table table({{"USED", Table::kRight},
               {"HELD", Table::kRight},
               {"LEFT", Table::kRight},
               {"LIMIT", Table::kRight},
               {"FULL AGAIN"}});
  table.add({number_text(usage.used), number_text(usage.held), number_text(usage.remaining), number_text(usage.limit),
             moment_text(usage.reset_after.ms())});
  table.print(console.out);
  return kExitDone;
}

Result<int> run_reconcile(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  const auto change =
      TRY(target.reconcile({invocation.arguments[0], invocation.arguments[1]}, invocation.numbers(2)[0]));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { wire::write_members(writer, change); });
  } else {
    console.out << "used " << number_text(change.used_now) << ", before " << number_text(change.used_before) << '\n';
  }
  return kExitDone;
}

std::vector<Argument> meter_arguments() {
  return {{.name = "LIMIT", .help = "The name of the limit"}, {.name = "KEY", .help = "Whose usage"}};
}

Option id_option() {
  return {"id", ValueKind::kText, "ID",
          "Names this operation: sent again with the same id, it is answered again but done once"};
}

}  // namespace

Command take_command() {
  return {.name = "take",
          .summary = "Take from one limit or several: may this happen, and what is left",
          .description =
              {"Several charges, each with its own --cost behind it, are one step: all of them are taken, or none. "
               "What is told to be left is the least that is left of any."},
          .arguments = charge_arguments(),
          .options = target_options(
              {cost_option(),
               id_option(),
               {.name = "force", .help = "Take it even past the limit: it has happened already"},
               {.name = "up-to", .help = "Take as much of it as fits; with one charge"},
               {"wait", ValueKind::kDuration, "DURATION", "Wait until it fits, but no longer than this"}}),
          .examples = {{"mete take api alice", "One of Alice's requests"},
                       {"mete take api alice and storage acme --cost 4096", "One request and 4096 bytes, or nothing"},
                       {"mete take api alice --cost 5 --wait 10s && send", "Wait for its turn"}},
          .statuses = {{kExitDone, "allowed"}, {kExitNo, "denied; nothing was taken"}},
          .run = run_take};
}

Command peek_command() {
  return {.name = "peek",
          .summary = "Ask what 'mete take' would answer, and change nothing",
          .arguments = charge_arguments(),
          .options = target_options({cost_option()}),
          .examples = {{"mete peek api alice --cost 5", "Would five more requests be allowed?"}},
          .statuses = {{kExitDone, "it would be allowed"}, {kExitNo, "it would be denied"}},
          .run = run_peek};
}

Command give_command() {
  return {
      .name = "give",
      .summary = "Give back what was taken",
      .description = {"Returns at most what is used. What was taken in a window that is over does not count any more, "
                      "and cannot be given back."},
      .arguments = charge_arguments(),
      .options = target_options({cost_option(), id_option()}),
      .examples = {{"mete give storage acme --cost 4096", "4096 bytes are free again"}},
      .run = run_give};
}

Command usage_command() {
  return {.name = "usage",
          .summary = "Tell how much of a limit a key has used",
          .arguments = meter_arguments(),
          .options = target_options(),
          .examples = {{"mete usage api alice", "Used, held and left"}},
          .run = run_usage};
}

Command reconcile_command() {
  std::vector<Argument> arguments = meter_arguments();
  arguments.push_back({.name = "USED", .help = "How much is used", .kind = ValueKind::kNumber});
  return {.name = "reconcile",
          .summary = "Set the usage of a key, from a source that knows it",
          .description = {"Held amounts are kept."},
          .arguments = std::move(arguments),
          .options = target_options(),
          .examples = {{"mete reconcile storage acme 1200000", "As many bytes are really there"}},
          .run = run_reconcile};
}

}  // namespace mete::cli
