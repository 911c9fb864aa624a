#include "server/configuration/config_sync.h"

#include <algorithm>

#include "base/errors.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/time_text.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::server {

namespace {

Result<std::string> text_of(const wire::NamedValue& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return std::string(*text);
  return base::invalid(std::string(field.name) + ": it must be a string");
}

// A number may be written as one.
Result<std::string> text_or_number(const wire::NamedValue& field) {
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) return std::to_string(*number);
  return text_of(field);
}

template <std::string sync::Plan::*member>
Result<void> set_text(sync::Plan& plan, const wire::NamedValue& field) {
  plan.*member = TRY(text_of(field));
  return {};
}

Result<void> set_missing(sync::Plan& plan, const wire::NamedValue& field) {
  const auto text = TRY(text_of(field));
  const auto missing = base::named<sync::Missing>(sync::kMissingNames, text);
  if (!missing)
    return base::invalid("missing: it must be " + base::name_list(sync::kMissingNames) + ", not " + wire::quote(text));
  plan.missing = *missing;
  return {};
}

Result<void> set_max_change(sync::Plan& plan, const wire::NamedValue& field) {
  const auto text = TRY(text_or_number(field));
  plan.max_change = TRY(sync::MaxChange::parse(text));
  return {};
}

Result<void> set_timeout(sync::Plan& plan, const wire::NamedValue& field) {
  const auto text = TRY(text_or_number(field));
  const auto timeout = wire::parse_duration(text);
  if (!timeout) return base::invalid("timeout: " + timeout.error().message);
  plan.timeout = *timeout;
  return {};
}

constexpr bool kRequiredKey = true;
constexpr bool kOptionalKey = false;

constexpr SyncKey kKeys[] = {
    {"limit", kRequiredKey, "the limit: a stock, a window or a calendar", set_text<&sync::Plan::limit>},
    {"source", kRequiredKey,
     "`postgres://USER@HOST:PORT/DATABASE`, with the parameters, variables and password file of libpq; `?timeout=5s` "
     "for "
     "one that is slow to connect",
     set_text<&sync::Plan::source>},
    {"query", kRequiredKey, "a SELECT with two columns: the key, and what it has used, a whole number; each key once",
     set_text<&sync::Plan::query>},
    {"schedule", kOptionalKey,
     "when to run it, as cron writes it: `\"0 3 * * *\"`, `\"*/15 * * * *\"`, `\"@daily\"`; only on demand where there "
     "is none",
     set_text<&sync::Plan::schedule>},
    {"zone", kOptionalKey, R"(the time zone of the schedule; `"UTC"` where there is none)",
     set_text<&sync::Plan::zone>},
    {"missing", kOptionalKey,
     R"(`"keep"` (if nothing is said) or `"zero"`: what becomes of keys in use that the query does not return)",
     set_missing},
    {"max_change", kOptionalKey,
     "`\"20%\"` of all that is in use, or a number of units: if more would change, nothing does, unless it is forced",
     set_max_change},
    {"timeout", kOptionalKey, R"(how long the query may take, `"1s"` to `"24h"`; `"10m"` where nothing is said)",
     set_timeout},
};

Result<void> set_field(sync::Plan& plan, const wire::NamedValue& field) {
  const auto key =
      std::find_if(std::begin(kKeys), std::end(kKeys), [&](const SyncKey& each) { return each.name == field.name; });
  if (key != std::end(kKeys)) return key->set(plan, field);
  std::vector<std::string> names;
  for (const SyncKey& each : kKeys) names.emplace_back(each.name);
  return base::invalid(wire::quote(field.name) + " is no key of [[sync]]" + base::did_you_mean(field.name, names));
}

}  // namespace

std::span<const SyncKey> sync_keys() { return kKeys; }

Result<sync::Plan> make_plan(std::span<const wire::NamedValue> fields) {
  sync::Plan plan;
  for (const wire::NamedValue& field : fields) {
    TRY(set_field(plan, field));
  }
  for (const SyncKey& key : kKeys) {
    const bool is_there = std::any_of(fields.begin(), fields.end(),
                                      [&](const wire::NamedValue& field) { return field.name == key.name; });
    if (key.is_required && !is_there) return base::invalid(std::string(key.name) + " is missing");
  }
  TRY(sync::check_plan(plan));
  return plan;
}

wire::NamedValues describe_plan(const sync::Plan& plan) {
  wire::NamedValues fields = {{"limit", plan.limit}, {"source", plan.source}, {"query", plan.query}};
  if (!plan.schedule.empty()) fields.push_back({"schedule", plan.schedule});
  fields.push_back({"zone", plan.zone});
  fields.push_back({"missing", std::string(sync::to_string(plan.missing))});
  if (plan.max_change) fields.push_back({"max_change", plan.max_change->text()});
  fields.push_back({"timeout", base::duration_text(plan.timeout)});
  return fields;
}

}  // namespace mete::server
