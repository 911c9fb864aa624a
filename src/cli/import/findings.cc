#include "cli/import/findings.h"

#include "base/check.h"
#include "cli/frame/text.h"
#include "core/validate.h"

namespace mete::cli {

namespace {

bool is_missing(const std::optional<StoredPart>& part) { return part && part->value.has_value() && !*part->value; }

// Why the pair cannot be imported, with the name that it is about.
std::optional<SkippedName> why_not(const StoredPair& pair) {
  const StoredPart& first = pair.used ? *pair.used : *pair.amount;
  if (const auto valid = core::validate_key(pair.key); !valid) {
    return SkippedName{first.name, "the star stands for no key: " + valid.error().message};
  }
  for (const auto& part : {pair.used, pair.amount}) {
    if (part && !part->value.has_value()) return SkippedName{part->name, part->value.error()};
  }
  if (is_missing(pair.used)) {
    return SkippedName{pair.amount->name, "there is no " + shown(pair.used->name) + "; --limit alone imports amounts"};
  }
  if (is_missing(pair.amount)) {
    return SkippedName{pair.used->name, "there is no " + shown(pair.amount->name) + "; --used alone imports usage"};
  }
  return std::nullopt;
}

}  // namespace

void add_pair(const StoredPair& pair, Findings& findings) {
  CHECK(pair.used || pair.amount);
  const bool is_gone = (!pair.used || is_missing(pair.used)) && (!pair.amount || is_missing(pair.amount));
  if (is_gone) return;
  if (auto skipped = why_not(pair)) {
    findings.skipped.push_back(std::move(*skipped));
    return;
  }
  findings.entries.push_back({.key = pair.key,
                              .used = pair.used ? *pair.used->value : std::nullopt,
                              .amount = pair.amount ? *pair.amount->value : std::nullopt});
}

bool is_of_month(const MonthName& name, Month current, Findings& findings) {
  const auto month = parse_month(name.month);
  if (month == current) return true;
  if (month && *month < current) {
    ++findings.earlier_months;
  } else if (month) {
    findings.skipped.push_back({name.name, "of a month that has not begun: it is " + month_text(current) + " now"});
  } else {
    findings.skipped.push_back({name.name, shown(name.month) + " is no month, as YYYY-MM"});
  }
  return false;
}

}  // namespace mete::cli
