// mete.toml into a ConfigDraft.
#include <algorithm>
#include <map>
#include <optional>

#include "base/errors.h"
#include "base/try.h"
#include "server/configuration/config_draft.h"
#include "server/configuration/config_sync.h"
#include "server/configuration/config_toml.h"
#include "server/limits/limit_fields.h"
#include "server/limits/limit_reload.h"
#include "wire/text.h"

namespace mete::server {

namespace {

std::string type_text(const FileValue::Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) return "integer";
  if (std::holds_alternative<std::string>(value)) return "string";
  if (std::holds_alternative<bool>(value)) return "boolean";
  if (std::holds_alternative<std::vector<std::string>>(value)) return "array";
  return std::string(std::get<OtherType>(value).name);
}

std::string_view wanted_type(SettingKind kind) {
  switch (kind) {
    case SettingKind::kBoolean:
      return "true or false";
    case SettingKind::kInteger:
      return "an integer";
    case SettingKind::kSize:
      return "a number of bytes, or a string such as \"64kb\"";
    case SettingKind::kDuration:
      return "a string such as \"5m\", or a number of seconds";
    case SettingKind::kAddresses:
    case SettingKind::kHosts:
      return "a string, or an array of strings";
    default:
      return "a string";
  }
}

// The value in the words of environment and flags; none if its type is wrong.
std::optional<std::string> text_of(SettingKind kind, const FileValue::Value& value) {
  const bool is_number = kind == SettingKind::kInteger || kind == SettingKind::kSize || kind == SettingKind::kDuration;
  if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && is_number) {
    return std::to_string(*number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool is_wrong = kind == SettingKind::kInteger || kind == SettingKind::kBoolean;
    return is_wrong ? std::nullopt : std::optional(*text);
  }
  if (const auto* boolean = std::get_if<bool>(&value); boolean != nullptr && kind == SettingKind::kBoolean) {
    return *boolean ? "true" : "false";
  }
  if (const auto* items = std::get_if<std::vector<std::string>>(&value);
      items != nullptr && (kind == SettingKind::kAddresses || kind == SettingKind::kHosts)) {
    std::string text;
    for (const std::string& item : *items) text += (&item == &items->front() ? "" : ",") + item;
    return text;
  }
  return std::nullopt;
}

class FileReader {
 public:
  FileReader(ConfigDraft& draft, const std::string& file) : draft_(draft), file_(file) {}

  Result<void> read(const FileContents& contents) {
    for (const FileValue& value : contents.values) {
      TRY(read_value(value));
    }
    for (const FileTable& table : contents.limits) {
      TRY(read_limit(table));
    }
    for (const FileTable& table : contents.syncs) {
      TRY(read_sync(table));
    }
    return {};
  }

 private:
  [[nodiscard]] std::string place_text(TextPosition place) const { return file_ + ":" + place.text(); }

  [[nodiscard]] Error refuse(TextPosition place, const std::string& message) const {
    return base::invalid_at(place_text(place), message);
  }

  Result<void> read_value(const FileValue& value) {
    const Setting* setting = find_setting(value.name);
    if (setting != nullptr) return read_setting(*setting, value);
    const bool is_empty_section =
        std::holds_alternative<OtherType>(value.value) && type_text(value.value) == "table" && is_section(value.name);
    if (is_empty_section) return {};
    const auto name_of = [](const Setting& each) { return std::string(each.name); };
    return refuse(value.key_place,
                  "there is no setting " + wire::quote(value.name) + suggest_setting(value.name, name_of));
  }

  static bool is_section(std::string_view name) {
    const std::string prefix = std::string(name) + ".";
    const auto all = settings();
    return std::any_of(all.begin(), all.end(), [&](const Setting& each) { return each.name.starts_with(prefix); });
  }

  Result<void> read_setting(const Setting& setting, const FileValue& value) {
    const auto text = text_of(setting.kind, value.value);
    const std::string place = place_text(value.place) + ": " + value.name;
    if (!text) {
      return refuse(value.place, value.name + ": it must be " + std::string(wanted_type(setting.kind)) +
                                     ", and is of type " + type_text(value.value));
    }
    return draft_.set(setting, *text, {Rank::kFile, place});
  }

  // The values of a [[limit]] or [[sync]]: views into the table.
  Result<wire::NamedValues> fields_of(const FileTable& table, std::string_view what) const {
    wire::NamedValues fields;
    for (const FileValue& value : table.values) {
      if (const auto* text = std::get_if<std::string>(&value.value)) {
        fields.push_back({value.name, *text});
      } else if (const auto* number = std::get_if<std::int64_t>(&value.value)) {
        fields.push_back({value.name, *number});
      } else if (const auto* boolean = std::get_if<bool>(&value.value)) {
        fields.push_back({value.name, *boolean});
      } else {
        return refuse(value.place, std::string(what) + ": " + wire::quote(value.name) + " cannot be of type " +
                                       type_text(value.value));
      }
    }
    return fields;
  }

  Result<void> read_limit(const FileTable& table) {
    auto fields = TRY(fields_of(table, "limit"));
    const auto named =
        std::find_if(fields.begin(), fields.end(), [](const wire::NamedValue& f) { return f.name == "name"; });
    if (named == fields.end()) return refuse(table.place, "limit: name is missing");
    const auto* name = std::get_if<std::string>(&named->value);
    if (name == nullptr) return refuse(place_of_value(table, "name"), "limit: name must be a string");
    const std::string text(*name);
    fields.erase(named);
    auto limit = make_limit(text, fields);
    if (limit) {
      if (auto ok = check_limit(*limit); !ok) limit = std::move(ok).error();
    }
    if (!limit) return refuse(place_of_error(table, limit.error()), limit_text(text) + ": " + limit.error().message);
    return add_limit(*limit, table.place);
  }

  Result<void> add_limit(const Limit& limit, TextPosition place) {
    const FileLimit added{limit, line_text(place)};
    const auto [other, is_new] = limits_.emplace(limit.name(), added);
    if (!is_new) return refuse(place, limit_text(limit.name()) + ": it is already defined at " + other->second.place);
    draft_.add(added);
    return {};
  }

  Result<void> read_sync(const FileTable& table) {
    const auto fields = TRY(fields_of(table, "sync"));
    auto plan = make_plan(fields);
    if (plan) {
      // Others may be defined by then.
      const auto limit = limits_.find(plan->limit);
      const auto ok = limit == limits_.end() ? Result<void>() : sync::check_kind(limit->second.limit);
      if (!ok) plan = ok.error();
    }
    if (!plan) return refuse(place_of_error(table, plan.error()), "sync: " + plan.error().message);
    const auto [other, is_new] = sync_lines_.emplace(plan->limit, line_text(table.place));
    if (!is_new) {
      return refuse(table.place, "sync: " + limit_text(plan->limit) + " is already synced at " + other->second);
    }
    draft_.add(FileSync{std::move(*plan), line_text(table.place)});
    return {};
  }

  [[nodiscard]] std::string line_text(TextPosition place) const { return file_ + ":" + std::to_string(place.line); }

  static std::string limit_text(std::string_view name) { return "limit " + wire::quote(name); }

  static TextPosition place_of_value(const FileTable& table, std::string_view name) {
    const auto found = std::find_if(table.values.begin(), table.values.end(),
                                    [&](const FileValue& value) { return value.name == name; });
    return found == table.values.end() ? table.place : found->place;
  }

  // A message of make_limit or make_plan begins with the field that it is about.
  static TextPosition place_of_error(const FileTable& table, const Error& error) {
    for (const FileValue& value : table.values) {
      if (error.message.starts_with(value.name + " ") || error.message.starts_with(value.name + ":"))
        return value.place;
      if (error.message.starts_with(wire::quote(value.name))) return value.key_place;
    }
    return table.place;
  }

  ConfigDraft& draft_;
  const std::string& file_;
  std::map<std::string, FileLimit> limits_;
  std::map<std::string, std::string> sync_lines_;
};

}  // namespace

Result<void> read_file_text(ConfigDraft& draft, std::string_view text, const std::string& file) {
  const auto contents = read_toml(text);
  if (!contents) return Error{contents.error().code, file + ":" + contents.error().message};
  return FileReader(draft, file).read(*contents);
}

}  // namespace mete::server
