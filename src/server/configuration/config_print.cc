#include "server/configuration/config_text.h"

#include <string_view>
#include <variant>

#include "server/configuration/config_settings.h"
#include "server/configuration/config_sync.h"
#include "server/limits/limit_fields.h"

namespace mete::server {

namespace {

// A basic string of TOML.
std::string toml_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20 || code == 0x7F) {
      quoted += "\\u00";
      quoted += kHex[code >> 4];
      quoted += kHex[code & 15U];
    } else {
      quoted += letter;
    }
  }
  return quoted += '"';
}

std::string array_text(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + toml_string(item);
  return items.empty() ? toml_string("off") : "[" + text + "]";
}

std::string toml_value(const Config& config, const Setting& setting) {
  const bool is_bare = setting.kind == SettingKind::kInteger || setting.kind == SettingKind::kBoolean;
  if (is_bare) return value_text(config, setting);
  if (setting.kind == SettingKind::kAddresses || setting.kind == SettingKind::kHosts) {
    return array_text(config.*std::get<std::vector<std::string> Config::*>(setting.member));
  }
  return toml_string(value_text(config, setting));
}

bool hides_something(const Config& config, const Setting& setting) {
  const auto* member = std::get_if<std::string Config::*>(&setting.member);
  return member != nullptr && value_text(config, setting) != config.**member;
}

// What is none, and what another setting stands for: a password that came from a file, a folder where there is a URL.
bool is_left_out(const Config& config, const Setting& setting) {
  if (setting.name == "server.data") return !config.store_url.empty();
  if (setting.name == "server.password") return config.password.empty() || !config.password_file.empty();
  if (setting.name == "server.use_password") return config.use_password.empty() || !config.use_password_file.empty();
  if (setting.name.starts_with("escrow.") && !config.is_node()) return true;
  return value_text(config, setting).empty();
}

std::string fields_text(const wire::NamedValues& fields) {
  std::string text;
  for (const wire::NamedValue& field : fields) {
    text += std::string(field.name) + " = ";
    if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      text += std::to_string(*number);
    } else if (const auto* flag = std::get_if<bool>(&field.value)) {
      text += *flag ? "true" : "false";
    } else {
      text += toml_string(std::get<std::string>(field.value));
    }
    text += '\n';
  }
  return text;
}

std::string limit_text(const Limit& limit) {
  return "\n[[limit]]\nname = " + toml_string(limit.name()) + "\n" + fields_text(describe_limit(limit));
}

std::string sync_text(sync::Plan plan) {
  const std::string source = without_password(plan.source);
  const bool hides_password = source != plan.source;
  plan.source = source;
  std::string text = fields_text(describe_plan(plan));
  if (hides_password) text.insert(text.find("source = "), "# ");
  return "\n[[sync]]\n" + text;
}

}  // namespace

std::string print_config(const Config& config) {
  std::string text;
  std::string_view section;
  for (const Setting& setting : settings()) {
    if (is_left_out(config, setting)) continue;
    const std::size_t dot = setting.name.find('.');
    if (setting.name.substr(0, dot) != section) {
      section = setting.name.substr(0, dot);
      text += (text.empty() ? "[" : "\n[") + std::string(section) + "]\n";
    }
    if (hides_something(config, setting)) text += "# ";
    text += std::string(setting.name.substr(dot + 1)) + " = " + toml_value(config, setting) + "\n";
  }
  for (const FileLimit& each : config.limits) text += limit_text(each.limit);
  for (const FileSync& each : config.syncs) text += sync_text(each.plan);
  return text;
}

}  // namespace mete::server
