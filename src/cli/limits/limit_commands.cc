// `mete limit set`, `get`, `list`, `del` and `override`.
#include <algorithm>
#include <ostream>

#include "base/names.h"
#include "base/try.h"
#include "cli/client/target.h"
#include "cli/commands.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "core/limit_fields.h"
#include "server/limits/limit_fields.h"
#include "wire/json.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

std::string text_of(const wire::Scalar& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return number_text(*number);
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? "yes" : printable(*text);
}

// "-" where there is no such value.
std::string text_of(const wire::NamedValues& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &wire::NamedValue::name);
  return found == values.end() ? "-" : text_of(found->value);
}

// None if there is no such limit.
Result<std::optional<wire::NamedValues>> look_at(Target& target, std::string_view name) {
  const auto limit = TRY(target.limit(name));
  return limit ? std::optional(server::tell_limit(target.store(), *limit)) : std::nullopt;
}

Result<int> show_limit(Target& target, const Invocation& invocation, Console& console) {
  const auto values = TRY(look_at(target, invocation.arguments[0]));
  if (!values) return no_limit(invocation.arguments[0]);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { writer.members(*values); });
    return kExitDone;
  }
  std::vector<Field> fields;
  for (const auto& [name, value] : *values) fields.emplace_back(name, text_of(value));
  print_fields(fields, console.out);
  return kExitDone;
}

Option option_of(const core::LimitField& field) {
  Option option{.name = std::string(field.option),
                .kind = ValueKind::kText,
                .value_name = std::string(field.value_name),
                .help = std::string(field.help)};
  if (field.type == core::FieldType::kFlag) option.kind = ValueKind::kNone;
  if (field.type == core::FieldType::kAmount || field.type == core::FieldType::kNumber) {
    option.kind = ValueKind::kNumber;
  }
  if (!field.names.empty()) {
    option.kind = ValueKind::kChoice;
    option.choices = base::split_names(field.names);
  }
  return option;
}

Result<int> run_limit_set(const Invocation& invocation, Console& console) {
  wire::NamedValues values = {{"kind", invocation.argument(1)}, {"amount", invocation.numbers(2)[0]}};
  for (const std::size_t place : core::kLimitOptions) {
    const core::LimitField& field = core::kLimitFields[place];
    const auto value = invocation.given(std::string(field.option));
    if (value && *value != "false") values.push_back({field.name, server::value_of_word(field, *value)});
  }
  const auto limit = TRY(server::make_limit(invocation.argument(0), values).map_error(explain));
  auto target = TRY(Target::open(invocation, console));
  TRY(store::check_scope(target.store(), limit));
  TRY(target.define(limit));
  return show_limit(target, invocation, console);
}

Result<int> run_limit_get(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  return show_limit(target, invocation, console);
}

// Those that are deleted between the list and the look at them are left out.
Result<std::vector<wire::NamedValues>> list_limits(const Invocation& invocation, Console& console) {
  auto target = TRY(Target::open(invocation, console));
  const auto names = TRY(target.limits());
  std::vector<wire::NamedValues> limits;
  for (const std::string& name : names) {
    auto values = TRY(look_at(target, name));
    if (values) limits.push_back(std::move(*values));
  }
  return limits;
}

// What has no column of its own: "burst 200, shadow".
std::string other_values(const wire::NamedValues& values) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : values) {
    if (name == "name" || name == "kind" || name == "amount" || name == "period") continue;
    texts.push_back(std::string(name) + (std::holds_alternative<bool>(value) ? "" : " " + text_of(value)));
  }
  return joined(texts, ", ");
}

Result<int> run_limit_list(const Invocation& invocation, Console& console) {
  const auto limits = TRY(list_limits(invocation, console));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.name("limits").begin_array();
      for (const wire::NamedValues& values : limits) writer.begin_object().members(values).end_object();
      writer.end_array();
    });
    return kExitDone;
  }
  if (limits.empty()) {
    console.out << "no limits yet: define one with: mete limit set api bucket 100 --per 1m\n";
    return kExitDone;
  }
  Table table({{"NAME"}, {"KIND"}, {"AMOUNT", Table::kRight}, {"PER"}, {"OPTIONS"}});
  for (const wire::NamedValues& values : limits) {
    table.add({text_of(values, "name"), text_of(values, "kind"), text_of(values, "amount"), text_of(values, "period"),
               other_values(values)});
  }
  table.print(console.out);
  return kExitDone;
}

Result<int> run_limit_del(const Invocation& invocation, Console& console) {
  const std::string name = invocation.argument(0);
  auto target = TRY(Target::open(invocation, console));
  const bool is_deleted = TRY(target.drop(name));
  if (!is_deleted) return no_limit(name);
  if (invocation.is_on("json")) {
    print_json(console, [](wire::JsonWriter& writer) { writer.member("deleted", true); });
  } else {
    console.out << "deleted " << printable(name) << '\n';
  }
  return kExitDone;
}

Result<int> run_limit_override(const Invocation& invocation, Console& console) {
  const std::string amount = invocation.argument(2);
  const bool is_none = wire::equals_ignoring_case(amount, "none");
  const auto number = wire::parse_integer(amount);
  if (!is_none && !number) {
    return fail_usage(invocation, console, "AMOUNT must be an integer or none, not " + shown(amount));
  }
  auto target = TRY(Target::open(invocation, console));
  TRY(target.set_override({invocation.arguments[0], invocation.arguments[1]}, is_none ? std::nullopt : number));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.name("amount").value(is_none ? wire::JsonValue{} : wire::JsonValue{*number});
    });
    return kExitDone;
  }
  console.out << printable(invocation.argument(0)) << ": " << printable(invocation.argument(1))
              << (is_none ? " has the limit's amount\n" : " has " + number_text(*number) + " of its own\n");
  return kExitDone;
}

Argument name_argument() { return {.name = "NAME", .help = "The name of the limit"}; }

}  // namespace

Command limit_set_command() {
  std::vector<Option> options;
  options.reserve(core::kLimitOptions.size());
  for (const std::size_t place : core::kLimitOptions) options.push_back(option_of(core::kLimitFields[place]));
  return {
      .name = "limit set",
      .summary = "Define a limit, or change it: what is in use stays in use",
      .description = {"A bucket fills continuously, up to its burst. A window gives all back at each multiple of its "
                      "period; sliding, as the last period slides on; a calendar, at each hour, day, week, month "
                      "or year of a time zone. A stock gets back only what is given back."},
      .arguments = {name_argument(),
                    {.name = "KIND",
                     .help = "How capacity comes back",
                     .kind = ValueKind::kChoice,
                     .choices = base::split_names(core::kKindNames)},
                    {.name = "AMOUNT", .help = "How much there is, in a period", .kind = ValueKind::kNumber}},
      .options = target_options(std::move(options)),
      .examples = {{"mete limit set api bucket 100 --per 1m --burst 200", "100 a minute, 200 at once"},
                   {"mete limit set links calendar 20 --per month --zone Europe/Berlin", "20 a month"},
                   {"mete limit set storage stock 5000000000", "5 GB, until they are given back"}},
      .run = run_limit_set};
}

Command limit_get_command() {
  return {.name = "limit get",
          .summary = "Show the definition of a limit",
          .arguments = {name_argument()},
          .options = target_options(),
          .run = run_limit_get};
}

Command limit_list_command() {
  return {.name = "limit list",
          .summary = "List the limits and their definitions",
          .options = target_options(),
          .run = run_limit_list};
}

Command limit_del_command() {
  return {.name = "limit del",
          .summary = "Delete a limit, and what was used of it",
          .arguments = {name_argument()},
          .options = target_options(),
          .run = run_limit_del};
}

Command limit_override_command() {
  return {.name = "limit override",
          .summary = "Give one key another amount than the limit has",
          .arguments = {name_argument(),
                        {.name = "KEY", .help = "For whom"},
                        {.name = "AMOUNT", .help = "How much; 'none' takes it back"}},
          .options = target_options(),
          .examples = {{"mete limit override api alice 1000", "Alice has bought more"},
                       {"mete limit override api alice none", "And does not pay for it any more"}},
          .run = run_limit_override};
}

}  // namespace mete::cli
