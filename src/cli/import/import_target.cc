#include "cli/import/import_target.h"

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "cli/client/replies.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

// `mete limit set NAME …`, as it is typed.
std::string how_to_define(std::string_view name, CounterForm form) {
  const bool is_stock = form == CounterForm::kPairs;
  return "define it with: mete limit set " + word_for_shell(name) +
         (is_stock ? " stock AMOUNT" : " calendar AMOUNT --per month") +
         ", where AMOUNT is for all that have none of their own";
}

Result<void> check_is_stock(const Limit& limit) {
  if (limit.kind() == Kind::kStock) return {};
  return base::invalid("the limit " + shown(limit.name()) + " is a " + std::string(to_string(limit.kind())) +
                       ", and what is used until it is given back needs a stock: " +
                       how_to_define(limit.name(), CounterForm::kPairs) + ", or import into another");
}

Result<void> check_is_monthly(const Limit& limit) {
  const std::string remedy = how_to_define(limit.name(), CounterForm::kMonths) + ", or import into another";
  if (limit.unit() != Unit::kMonth) {
    const std::string period = limit.unit()     ? " per " + std::string(to_string(*limit.unit()))
                               : limit.period() ? " per " + base::duration_text(*limit.period())
                                                : "";
    return base::invalid("the limit " + shown(limit.name()) + " is a " + std::string(to_string(limit.kind())) + period +
                         ", and counters per month need a calendar per month: " + remedy);
  }
  const int anchor = limit.anchor().value_or(1);
  if (anchor == 1) return {};
  return base::invalid("the months of the limit " + shown(limit.name()) + " begin on day " + std::to_string(anchor) +
                       ", and those of the counters on the first: " + remedy);
}

}  // namespace

Change change_between(const Standing& standing, const Entry& entry) {
  Change change;
  if (entry.used && *entry.used != standing.used) change.used = entry.used;
  if (entry.amount && *entry.amount != standing.amount) change.amount = entry.amount;
  return change;
}

Result<void> check_fits(const Limit& limit, CounterForm form) {
  return form == CounterForm::kPairs ? check_is_stock(limit) : check_is_monthly(limit);
}

Error no_target_limit(std::string_view name, CounterForm form) {
  return {ErrorCode::kNoLimit, "no limit " + shown(name) + ": " + how_to_define(name, form)};
}

std::vector<std::vector<std::string>> commands_for(const Limit& limit, const std::string& key, const Change& change) {
  std::vector<std::vector<std::string>> commands;
  if (change.amount) {
    const std::string amount = *change.amount == limit.amount() ? "NONE" : std::to_string(*change.amount);
    commands.push_back({"LIMIT", "OVERRIDE", std::string(limit.name()), key, amount});
  }
  if (change.used) commands.push_back({"RECONCILE", std::string(limit.name()), key, std::to_string(*change.used)});
  return commands;
}

Result<ImportTarget> ImportTarget::open(Client client, const std::string& limit, CounterForm form) {
  auto server = std::make_unique<ServerStore>(std::move(client));
  auto definition = TRY(server->limit(limit).map_error(explain));
  if (!definition) return no_target_limit(limit, form);
  TRY(check_fits(*definition, form));
  return ImportTarget(std::move(server), std::move(*definition));
}

Result<Month> ImportTarget::current_month() {
  return month_at(server_->now(), std::string(limit_.zone().value_or("UTC")));
}

Result<std::vector<Standing>> ImportTarget::standings(std::span<const Entry> entries) {
  std::vector<std::vector<std::string>> commands;
  for (const Entry& entry : entries) commands.push_back({"USAGE", std::string(limit_.name()), entry.key});
  const auto replies = TRY(server_->client().call_all(commands));
  std::vector<Standing> standings;
  for (const wire::RespValue& reply : replies) {
    ReplyReader reader(reply);
    Usage usage;
    describe_fields(usage,
                    [&](std::string_view /*name*/, auto& value, std::string_view /*meaning*/) { reader.read(value); });
    TRY(reader.finish());
    standings.push_back({.used = usage.used, .amount = usage.limit});
  }
  return standings;
}

Result<void> ImportTarget::apply(std::span<const std::vector<std::string>> commands) {
  return server_->client().call_all(commands).map([](const auto&) {});
}

}  // namespace mete::cli
