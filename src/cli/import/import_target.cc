#include "cli/import/import_target.h"

#include "base/errors.h"
#include "base/try.h"
#include "cli/client/replies.h"
#include "cli/frame/text.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

// `mete limit set NAME …`, as it is typed.
std::string how_to_define(std::string_view name, CounterForm form) {
  const bool is_stock = form == CounterForm::kPairs;
  return "define it with: mete limit set " + word_for_shell(name) +
         (is_stock ? " stock AMOUNT" : " calendar AMOUNT --per month") +
         ", where AMOUNT is for all that have none of their own";
}

Result<void> check_is_stock(const TargetLimit& limit) {
  if (limit.kind == "stock") return {};
  return base::invalid("the limit " + shown(limit.name) + " is a " + limit.kind +
                       ", and what is used until it is given back needs a stock: " +
                       how_to_define(limit.name, CounterForm::kPairs) + ", or import into another");
}

Result<void> check_is_monthly(const TargetLimit& limit) {
  const std::string remedy = how_to_define(limit.name, CounterForm::kMonths) + ", or import into another";
  if (limit.kind != "calendar" || limit.period != "month") {
    const std::string period = limit.period.empty() ? "" : " per " + limit.period;
    return base::invalid("the limit " + shown(limit.name) + " is a " + limit.kind + period +
                         ", and counters per month need a calendar per month: " + remedy);
  }
  if (limit.anchor == 1) return {};
  return base::invalid("the months of the limit " + shown(limit.name) + " begin on day " +
                       std::to_string(limit.anchor) + ", and those of the counters on the first: " + remedy);
}

}  // namespace

Change change_between(const Standing& standing, const Entry& entry) {
  Change change;
  if (entry.used && *entry.used != standing.used) change.used = entry.used;
  if (entry.amount && *entry.amount != standing.amount) change.amount = entry.amount;
  return change;
}

TargetLimit target_limit(const LimitDefinition& definition) {
  TargetLimit limit;
  for (const LimitMember& member : definition) {
    if (member.name == "name") limit.name = member.value.text;
    if (member.name == "kind") limit.kind = member.value.text;
    if (member.name == "amount") limit.amount = member.value.integer;
    if (member.name == "period") limit.period = member.value.text;
    if (member.name == "zone") limit.zone = member.value.text;
    if (member.name == "anchor") limit.anchor = member.value.integer;
  }
  return limit;
}

Result<void> check_fits(const TargetLimit& limit, CounterForm form) {
  return form == CounterForm::kPairs ? check_is_stock(limit) : check_is_monthly(limit);
}

Error no_target_limit(std::string_view name, CounterForm form) {
  return {ErrorCode::kNoLimit, "no limit " + shown(name) + ": " + how_to_define(name, form)};
}

std::vector<std::vector<std::string>> commands_for(const TargetLimit& limit, const std::string& key,
                                                   const Change& change) {
  std::vector<std::vector<std::string>> commands;
  if (change.amount) {
    const std::string amount = *change.amount == limit.amount ? "NONE" : std::to_string(*change.amount);
    commands.push_back({"LIMIT", "OVERRIDE", limit.name, key, amount});
  }
  if (change.used) commands.push_back({"RECONCILE", limit.name, key, std::to_string(*change.used)});
  return commands;
}

Result<ImportTarget> ImportTarget::open(Client client, const std::string& limit, CounterForm form) {
  const auto definition = TRY(find_limit(client, limit));
  if (!definition) return no_target_limit(limit, form);
  ImportTarget target(std::move(client), target_limit(*definition));
  TRY(check_fits(target.limit_, form));
  return target;
}

Result<Month> ImportTarget::current_month() {
  const auto reply = TRY(client_.call({"TIME"}));
  ReplyReader reader(reply);
  const auto seconds = wire::parse_integer(reader.text());
  reader.text();  // microseconds
  if (!reader.finish() || !seconds || *seconds < 0) return unexpected_reply();
  return month_at(Instant::from_unix_seconds(static_cast<std::uint64_t>(*seconds)), limit_.zone);
}

Result<std::vector<Standing>> ImportTarget::standings(std::span<const Entry> entries) {
  std::vector<std::vector<std::string>> commands;
  for (const Entry& entry : entries) commands.push_back({"USAGE", limit_.name, entry.key});
  const auto replies = TRY(client_.call_all(commands));
  std::vector<Standing> standings;
  for (const wire::RespValue& reply : replies) {
    ReplyReader reader(reply);
    Standing& standing = standings.emplace_back();
    standing.used = reader.integer();
    reader.integer();  // held
    reader.integer();  // remaining
    standing.amount = reader.integer();
    reader.integer();  // reset after
    TRY(reader.finish());
  }
  return standings;
}

Result<void> ImportTarget::apply(std::span<const std::vector<std::string>> commands) {
  return client_.call_all(commands).map([](const auto&) {});
}

}  // namespace mete::cli
