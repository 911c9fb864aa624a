#include "cli/decisions/answers.h"

#include <ostream>

#include "cli/frame/text.h"
#include "server/decisions/wait_queue.h"
#include "wire/answers.h"

namespace mete::cli {

namespace {

std::string left_text(Amount remaining, Amount limit) {
  return number_text(remaining) + " of " + number_text(limit) + " left";
}

}  // namespace

std::string standing_text(const core::Verdict& verdict) {
  const std::string left = left_text(verdict.remaining, verdict.limit);
  const bool refills = verdict.reset_after > Duration() && !verdict.reset_after.is_never();
  return refills ? left + ", full again in " + duration_text(verdict.reset_after.ms()) : left;
}

std::string denial_text(const core::Verdict& verdict, std::span<const Charge> charges) {
  std::vector<std::string> names;
  for (const std::string_view name : core::violated_limits(charges, verdict)) names.push_back(printable(name));
  std::string text = "denied by " + joined(names, ", ") + ": ";
  if (!verdict.retry_after.is_never()) {
    text += "try again in " + duration_text(verdict.retry_after.ms());
  } else if (server::can_never_fit(charges, verdict)) {
    text += number_text(charges[0].cost) + " can never fit";
  } else {
    text += "no wait is enough, something must be given back";
  }
  return text + "; " + left_text(verdict.remaining, verdict.limit);
}

Result<int> print_settlement(const Result<Settlement>& settlement, std::string_view name, const Invocation& invocation,
                             Console& console) {
  if (!settlement) return settlement.error();
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { wire::write_members(writer, *settlement, name, ""); });
  } else {
    console.out << name << ' ' << number_text(settlement->amount) << ", "
                << left_text(settlement->remaining, settlement->limit) << '\n';
  }
  return kExitDone;
}

}  // namespace mete::cli
