#include "cli/decisions/answers.h"

#include <ostream>

#include "base/try.h"
#include "cli/frame/text.h"
#include "wire/answers.h"

namespace mete::cli {

namespace {

std::string left_text(Amount remaining, Amount limit) {
  return number_text(remaining) + " of " + number_text(limit) + " left";
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

}  // namespace

Result<HoldDecision> read_decision(const wire::RespValue& reply, bool is_hold) {
  ReplyReader reader(reply);
  HoldDecision decision;
  describe_fields(decision, [&]<class Value>(std::string_view /*name*/, Value& value, std::string_view /*meaning*/) {
    if constexpr (std::is_same_v<Value, bool>) {
      decision.taken = reader.integer();
      if (is_hold) decision.id = reader.text();
    } else {
      reader.read(value);
    }
  });
  decision.violated = reader.texts();
  decision.is_allowed = decision.taken > 0 || decision.violated.empty();
  return reader.finish().map([&] { return decision; });
}

void write_decision(const Decision& decision, wire::JsonWriter& writer) {
  wire::write_members(writer, decision).texts("violated", decision.violated);
}

std::string standing_text(const Decision& decision) {
  const std::string left = left_text(decision.remaining, decision.limit);
  const bool refills = decision.reset_after > Duration() && !decision.reset_after.is_never();
  return refills ? left + ", full again in " + duration_text(decision.reset_after.ms()) : left;
}

std::string denial_text(const Decision& decision, Amount cost) {
  std::string text = "denied by " + names_text(decision.violated) + ": ";
  if (!decision.retry_after.is_never()) {
    text += "try again in " + duration_text(decision.retry_after.ms());
  } else if (cost > decision.limit) {
    text += number_text(cost) + " can never fit";
  } else {
    text += "no wait is enough, something must be given back";
  }
  return text + "; " + left_text(decision.remaining, decision.limit);
}

Result<int> print_settlement(const Result<wire::RespValue>& reply, const std::string& name,
                             const Invocation& invocation, Console& console) {
  if (!reply) return fail(console, reply.error().message);
  ReplyReader reader(*reply);
  Settlement settlement;
  reader.read_fields(settlement, name, "");
  TRY(reader.finish());
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { wire::write_members(writer, settlement, name, ""); });
  } else {
    console.out << name << ' ' << number_text(settlement.amount) << ", "
                << left_text(settlement.remaining, settlement.limit) << '\n';
  }
  return kExitDone;
}

}  // namespace mete::cli
