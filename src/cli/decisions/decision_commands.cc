// `mete take`, `peek`, `give`, `usage` and `reconcile`.
#include <ostream>

#include "base/try.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/decisions/charges.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

struct TakeQuestion {
  std::vector<std::string> words;
  std::int64_t cost = 0;  // see only_cost
  bool is_up_to = false;
  bool is_peek = false;
  Duration patience = {};
};

std::string decision_text(const Decision& decision, const TakeQuestion& question) {
  const std::string mood = question.is_peek ? "would be " : "";
  if (!decision.is_allowed) return mood + denial_text(decision, question.cost);
  std::string verdict = mood + "allowed  ";
  if (question.is_up_to) verdict = "took " + number_text(decision.taken) + " of " + number_text(question.cost) + ", ";
  return verdict + standing_text(decision);
}

Result<int> decide(const TakeQuestion& question, const Invocation& invocation, Console& console) {
  const auto reply = TRY(ask(invocation, console, question.words, question.patience));
  const auto decision = TRY(read_decision(reply, false));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      write_decision(decision, writer);
      if (question.is_up_to) writer.member("taken", decision.taken);
    });
  } else {
    console.out << decision_text(decision, question) << '\n';
  }
  return decision.is_allowed ? kExitDone : kExitNo;
}

Result<int> run_take(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  TakeQuestion question{
      .words = words_of("TAKE", *charges), .cost = only_cost(*charges), .is_up_to = invocation.is_on("up-to")};
  if (question.is_up_to && invocation.is_on("force")) {
    return fail_usage(invocation, console, "--force takes all, and --up-to what fits: give one of them");
  }
  if (const auto id = invocation.given("id")) question.words.insert(question.words.end(), {"ID", *id});
  if (invocation.is_on("force")) question.words.emplace_back("FORCE");
  if (question.is_up_to) question.words.emplace_back("UPTO");
  if (const auto wait = invocation.given("wait")) {
    question.words.insert(question.words.end(), {"WAIT", *wait});
    question.patience = wire::parse_duration(*wait).value();  // the parser has seen that it is one
  }
  return decide(question, invocation, console);
}

Result<int> run_peek(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  return decide({.words = words_of("PEEK", *charges), .cost = only_cost(*charges), .is_peek = true}, invocation,
                console);
}

Result<int> run_give(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  std::vector<std::string> words = words_of("GIVE", *charges);
  if (const auto id = invocation.given("id")) words.insert(words.end(), {"ID", *id});
  return print_settlement(ask(invocation, console, words), "returned", invocation, console);
}

Result<int> run_usage(const Invocation& invocation, Console& console) {
  const auto reply = TRY(ask(invocation, console, {"USAGE", invocation.argument(0), invocation.argument(1)}));
  const auto usage = TRY(read_answer<Usage>(reply));
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
  const auto reply = TRY(
      ask(invocation, console, {"RECONCILE", invocation.argument(0), invocation.argument(1), invocation.argument(2)}));
  const auto change = TRY(read_answer<Reconciliation>(reply));
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
          .options = client_options(
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
          .options = client_options({cost_option()}),
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
      .options = client_options({cost_option(), id_option()}),
      .examples = {{"mete give storage acme --cost 4096", "4096 bytes are free again"}},
      .run = run_give};
}

Command usage_command() {
  return {.name = "usage",
          .summary = "Tell how much of a limit a key has used",
          .arguments = meter_arguments(),
          .options = client_options(),
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
          .options = client_options(),
          .examples = {{"mete reconcile storage acme 1200000", "As many bytes are really there"}},
          .run = run_reconcile};
}

}  // namespace mete::cli
