// `mete limit set`, `get`, `list`, `del` and `override`.
#include <ostream>

#include "base/names.h"
#include "base/try.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "core/limit_fields.h"
#include "wire/json.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

std::string text_of(const LimitMember& member) {
  return member.value.type == wire::RespType::kInteger ? number_text(member.value.integer)
                                                       : printable(member.value.text);
}

// "-" where there is no such member.
std::string text_of(const LimitDefinition& definition, std::string_view name) {
  for (const LimitMember& member : definition) {
    if (member.name == name) return text_of(member);
  }
  return "-";
}

// In JSON shadow is a boolean, which RESP2 does not have.
void write_definition(const LimitDefinition& definition, wire::JsonWriter& writer) {
  for (const LimitMember& member : definition) {
    if (member.name == "shadow") {
      writer.member(member.name, member.value.integer != 0);
    } else if (member.value.type == wire::RespType::kInteger) {
      writer.member(member.name, member.value.integer);
    } else {
      writer.member(member.name, member.value.text);
    }
  }
}

Result<int> show_limit(Client& client, const Invocation& invocation, Console& console) {
  const std::string name = invocation.argument(0);
  const auto definition = TRY(find_limit(client, name));
  if (!definition) return no_limit(name);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { write_definition(*definition, writer); });
    return kExitDone;
  }
  std::vector<Field> fields;
  for (const LimitMember& member : *definition) {
    fields.emplace_back(printable(member.name), member.name == "shadow" ? "yes" : text_of(member));
  }
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
  std::vector<std::string> words = {"LIMIT", "SET", invocation.argument(0), invocation.argument(1),
                                    invocation.argument(2)};
  for (const std::size_t place : core::kLimitOptions) {
    const core::LimitField& field = core::kLimitFields[place];
    const auto value = invocation.given(std::string(field.option));
    if (!value || *value == "false") continue;
    words.emplace_back(field.word);
    if (field.type != core::FieldType::kFlag) words.push_back(*value);
  }
  auto client = TRY(Client::open(invocation, console));
  TRY(client.call(words));
  return show_limit(client, invocation, console);
}

Result<int> run_limit_get(const Invocation& invocation, Console& console) {
  auto client = Client::open(invocation, console);
  return client ? show_limit(*client, invocation, console) : fail(console, client.error().message);
}

// Those that are deleted between the list and the look at them are left out.
Result<std::vector<LimitDefinition>> list_limits(const Invocation& invocation, Console& console) {
  auto client = TRY(Client::open(invocation, console));
  const auto reply = TRY(client.call({"LIMIT", "LIST"}));
  std::vector<LimitDefinition> limits;
  ReplyReader reader(reply);
  while (reader.has_more()) {
    auto definition = TRY(find_limit(client, reader.text()));
    if (definition) limits.push_back(std::move(*definition));
  }
  return reader.finish().map([&] { return limits; });
}

// What has no column of its own: "burst 200, shadow".
std::string other_members(const LimitDefinition& definition) {
  std::string text;
  for (const LimitMember& member : definition) {
    if (member.name == "name" || member.name == "kind" || member.name == "amount" || member.name == "period") continue;
    text += (text.empty() ? "" : ", ") + printable(member.name);
    if (member.name != "shadow") text += " " + text_of(member);
  }
  return text;
}

Result<int> run_limit_list(const Invocation& invocation, Console& console) {
  const auto limits = TRY(list_limits(invocation, console));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.name("limits").begin_array();
      for (const LimitDefinition& definition : limits) {
        writer.begin_object();
        write_definition(definition, writer);
        writer.end_object();
      }
      writer.end_array();
    });
    return kExitDone;
  }
  if (limits.empty()) {
    console.out << "no limits yet: define one with: mete limit set api bucket 100 --per 1m\n";
    return kExitDone;
  }
  Table table({{"NAME"}, {"KIND"}, {"AMOUNT", Table::kRight}, {"PER"}, {"OPTIONS"}});
  for (const LimitDefinition& definition : limits) {
    table.add({text_of(definition, "name"), text_of(definition, "kind"), text_of(definition, "amount"),
               text_of(definition, "period"), other_members(definition)});
  }
  table.print(console.out);
  return kExitDone;
}

Result<int> run_limit_del(const Invocation& invocation, Console& console) {
  const std::string name = invocation.argument(0);
  const auto reply = TRY(ask(invocation, console, {"LIMIT", "DEL", name}));
  ReplyReader reader(reply);
  const bool is_deleted = reader.integer() > 0;
  TRY(reader.finish());
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
  const auto reply =
      TRY(ask(invocation, console, {"LIMIT", "OVERRIDE", invocation.argument(0), invocation.argument(1), amount}));
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
      .options = client_options(std::move(options)),
      .examples = {{"mete limit set api bucket 100 --per 1m --burst 200", "100 a minute, 200 at once"},
                   {"mete limit set links calendar 20 --per month --zone Europe/Berlin", "20 a month"},
                   {"mete limit set storage stock 5000000000", "5 GB, until they are given back"}},
      .run = run_limit_set};
}

Command limit_get_command() {
  return {.name = "limit get",
          .summary = "Show the definition of a limit",
          .arguments = {name_argument()},
          .options = client_options(),
          .run = run_limit_get};
}

Command limit_list_command() {
  return {.name = "limit list",
          .summary = "List the limits and their definitions",
          .options = client_options(),
          .run = run_limit_list};
}

Command limit_del_command() {
  return {.name = "limit del",
          .summary = "Delete a limit, and what was used of it",
          .arguments = {name_argument()},
          .options = client_options(),
          .run = run_limit_del};
}

Command limit_override_command() {
  return {.name = "limit override",
          .summary = "Give one key another amount than the limit has",
          .arguments = {name_argument(),
                        {.name = "KEY", .help = "For whom"},
                        {.name = "AMOUNT", .help = "How much; 'none' takes it back"}},
          .options = client_options(),
          .examples = {{"mete limit override api alice 1000", "Alice has bought more"},
                       {"mete limit override api alice none", "And does not pay for it any more"}},
          .run = run_limit_override};
}

}  // namespace mete::cli
