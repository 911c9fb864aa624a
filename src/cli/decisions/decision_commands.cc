// `mete take`, `peek`, `give`, `usage` and `reconcile`.
#include <ostream>

#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/decisions/answers.h"
#include "cli/decisions/charges.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

Result<Answer> read_decision(const wire::RespValue& reply) {
  ReplyReader reader(reply);
  Answer answer{.allowed = reader.integer()};
  read_standing(reader, answer);
  return reader.finish().map([&](Done) { return answer; });
}

struct TakeQuestion {
  std::vector<std::string> words;
  std::int64_t cost = 0;  // see only_cost
  bool is_up_to = false;
  bool is_peek = false;
  Duration patience = {};
};

std::string decision_text(const Answer& answer, const TakeQuestion& question) {
  const std::string mood = question.is_peek ? "would be " : "";
  if (!answer.is_allowed()) return mood + denial_text(answer, question.cost);
  std::string verdict = mood + "allowed  ";
  if (question.is_up_to) verdict = "took " + number_text(answer.allowed) + " of " + number_text(question.cost) + ", ";
  return verdict + standing_text(answer);
}

int decide(const TakeQuestion& question, const Invocation& invocation, Console& console) {
  const auto answer = ask(invocation, console, question.words, question.patience).and_then(read_decision);
  if (!answer) return fail(console, answer.error().message);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      write_answer(*answer, writer);
      if (question.is_up_to) writer.member("taken", answer->allowed);
    });
  } else {
    console.out << decision_text(*answer, question) << '\n';
  }
  return answer->is_allowed() ? kExitDone : kExitNo;
}

int run_take(const Invocation& invocation, Console& console) {
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

int run_peek(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  return decide({.words = words_of("PEEK", *charges), .cost = only_cost(*charges), .is_peek = true}, invocation,
                console);
}

int run_give(const Invocation& invocation, Console& console) {
  const auto charges = read_charges(invocation);
  if (!charges) return fail_usage(invocation, console, charges.error().message);
  std::vector<std::string> words = words_of("GIVE", *charges);
  if (const auto id = invocation.given("id")) words.insert(words.end(), {"ID", *id});
  return print_settlement(ask(invocation, console, words), "returned", invocation, console);
}

struct Usage {
  std::int64_t used = 0;
  std::int64_t held = 0;
  std::int64_t remaining = 0;
  std::int64_t limit = 0;
  std::int64_t reset_after_ms = 0;
};

Result<Usage> read_usage(const wire::RespValue& reply) {
  ReplyReader reader(reply);
  const Usage usage{reader.integer(), reader.integer(), reader.integer(), reader.integer(), reader.integer()};
  return reader.finish().map([&](Done) { return usage; });
}

int run_usage(const Invocation& invocation, Console& console) {
  const auto usage =
      ask(invocation, console, {"USAGE", invocation.argument(0), invocation.argument(1)}).and_then(read_usage);
  if (!usage) return fail(console, usage.error().message);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.member("used", usage->used).member("held", usage->held).member("remaining", usage->remaining);
      writer.member("limit", usage->limit).member("reset_after_ms", usage->reset_after_ms);
    });
    return kExitDone;
  }
  Table table({{"USED", Table::kRight},
               {"HELD", Table::kRight},
               {"LEFT", Table::kRight},
               {"LIMIT", Table::kRight},
               {"FULL AGAIN"}});
  table.add({number_text(usage->used), number_text(usage->held), number_text(usage->remaining),
             number_text(usage->limit), moment_text(usage->reset_after_ms)});
  table.print(console.out);
  return kExitDone;
}

int run_reconcile(const Invocation& invocation, Console& console) {
  const auto reply =
      ask(invocation, console, {"RECONCILE", invocation.argument(0), invocation.argument(1), invocation.argument(2)});
  if (!reply) return fail(console, reply.error().message);
  ReplyReader reader(*reply);
  const std::int64_t before = reader.integer();
  const std::int64_t now = reader.integer();
  if (const auto ok = reader.finish(); !ok) return fail(console, ok.error().message);
  if (invocation.is_on("json")) {
    print_json(console,
               [&](wire::JsonWriter& writer) { writer.member("used_before", before).member("used_now", now); });
  } else {
    console.out << "used " << number_text(now) << ", before " << number_text(before) << '\n';
  }
  return kExitDone;
}

std::vector<Argument> meter_arguments() {
  return {{.name = "LIMIT", .help = "The name of the limit"}, {.name = "KEY", .help = "Whose usage"}};
}

Option id_option() {
  return {.name = "id",
          .kind = ValueKind::kText,
          .value_name = "ID",
          .help = "Names this operation: sent again with the same id, it is answered again but done once"};
}

}  // namespace

Command take_command() {
  return {.name = "take",
          .summary = "Take from one limit or several: may this happen, and what is left",
          .description =
              {"Several charges, each with its own --cost behind it, are one step: all of them are taken, or none. "
               "What is told to be left is the least that is left of any."},
          .arguments = charge_arguments(),
          .options = client_options({cost_option(),
                                     id_option(),
                                     {.name = "force", .help = "Take it even past the limit: it has happened already"},
                                     {.name = "up-to", .help = "Take as much of it as fits; with one charge"},
                                     {.name = "wait",
                                      .kind = ValueKind::kDuration,
                                      .value_name = "DURATION",
                                      .help = "Wait until it fits, but no longer than this"}}),
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
