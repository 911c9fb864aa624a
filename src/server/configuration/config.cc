#include "server/configuration/config.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/errors.h"
#include "base/try.h"
#include "server/configuration/config_draft.h"
#include "server/configuration/config_settings.h"
#include "wire/text.h"

namespace mete::server {

namespace {

std::string system_error_text() { return std::generic_category().message(errno); }

// A plain read(2): the file may be a pipe, as from a shell's <(…).
Result<std::string> read_whole(const std::string& path, std::size_t bytes_max) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return base::invalid_at(path, "cannot open it: " + system_error_text());
  std::string text;
  std::array<char, 16'384> part{};
  ssize_t count = 0;
  while ((count = ::read(file, part.data(), part.size())) > 0 || (count < 0 && errno == EINTR)) {
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    if (text.size() > bytes_max) break;
  }
  const std::string reason = count < 0 ? system_error_text() : "";
  ::close(file);
  if (count < 0) return base::invalid_at(path, "cannot read it: " + reason);
  if (text.size() > bytes_max)
    return base::invalid_at(path, "it has more than " + std::to_string(bytes_max) + " bytes");
  return text;
}

// What a pod finds in its environment if there is a service of the name "mete-server", "mete-store" or "mete-escrow"
// beside it.
bool is_from_kubernetes(std::string_view after_prefix) {
  return after_prefix == "PORT" || after_prefix.starts_with("PORT_") || after_prefix.starts_with("SERVICE_");
}

Result<void> read_environment(ConfigDraft& draft, const std::map<std::string, std::string>& environment) {
  for (const Setting& setting : settings()) {
    const std::string name = environment_name(setting);
    const auto found = environment.find(name);
    if (found == environment.end()) continue;
    TRY(draft.set(setting, found->second, {Rank::kEnvironment, name}));
  }
  for (const auto& [name, value] : environment) {
    for (const std::string_view prefix : {"METE_SERVER_", "METE_STORE_", "METE_ESCROW_"}) {
      if (!name.starts_with(prefix) || is_from_kubernetes(std::string_view(name).substr(prefix.size()))) continue;
      bool is_known = false;
      for (const Setting& setting : settings()) is_known = is_known || environment_name(setting) == name;
      if (!is_known)
        return base::invalid_at(wire::quote(name),
                                "there is no such setting" + suggest_setting(name, environment_name));
    }
  }
  return {};
}

Result<void> read_flags(ConfigDraft& draft, const std::map<std::string, std::string>& flags) {
  std::size_t used = 0;
  for (const Setting& setting : settings()) {
    const auto found = flags.find(flag_name(setting));
    if (found == flags.end()) continue;
    ++used;
    TRY(draft.set(setting, found->second, {Rank::kFlag, "--" + found->first}));
  }
  if (used == flags.size()) return {};
  for (const auto& [name, value] : flags) {
    bool is_known = false;
    for (const Setting& setting : settings()) is_known = is_known || flag_name(setting) == name;
    if (!is_known) return base::invalid_at("--" + name, "there is no such setting" + suggest_setting(name, flag_name));
  }
  return {};
}

// Line ends as an editor has left them.
void trim_line_ends(std::string& text) {
  for (std::size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at)) text.erase(at, 1);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
}

Result<void> read_password(const std::string& file, std::string_view setting, std::string& password) {
  if (file.empty()) return {};
  auto text = TRY(read_whole(file, kPasswordLinesMax * (kPasswordBytesMax + 2)));
  trim_line_ends(text);
  Config checked;
  if (const auto ok = set_value(checked, setting, text); !ok) {
    return base::invalid_at(file, "a password is one line of 1 to " + std::to_string(kPasswordBytesMax) +
                                      " bytes, none of them zero: " + ok.error().message);
  }
  password = std::move(text);
  return {};
}

}  // namespace

Result<Config> load_config(const ConfigSources& sources) {
  std::string text;
  if (!sources.file.empty()) {
    text = TRY(read_whole(sources.file, kConfigBytesMax));
  }
  auto config = TRY(parse_config(text, sources));
  const struct {
    const std::string& file;
    std::string_view setting;
    std::string& password;
  } files[] = {{config.password_file, "server.password", config.password},
               {config.use_password_file, "server.use_password", config.use_password},
               {config.look_password_file, "server.look_password", config.look_password}};
  for (const auto& each : files) {
    TRY(read_password(each.file, each.setting, each.password));
  }
  if (const auto conflict = find_conflict(config))
    return base::invalid_at(config.place_of(conflict->setting), conflict->message);
  return config;
}

Result<Config> parse_config(std::string_view text, const ConfigSources& sources) {
  ConfigDraft draft;
  TRY(read_file_text(draft, text, sources.file));
  TRY(read_environment(draft, sources.environment));
  TRY(read_flags(draft, sources.flags));
  auto config = TRY(std::move(draft).finish());
  // Where proxies look for such a service.
  if (!config.envoy_config.empty() && config.grpc.empty()) config.grpc = {"127.0.0.1:8081"};
  return config;
}

Result<void> set_value(Config& config, std::string_view name, std::string_view text) {
  const Setting* setting = find_setting(name);
  if (setting == nullptr) return base::invalid_at(wire::quote(name), "there is no such setting");
  auto ok = set_value(config, *setting, text);
  if (!ok) return base::invalid_at(std::string(name), ok.error().message);
  return ok;
}

std::vector<ConfigValue> list_values(const Config& config) {
  std::vector<ConfigValue> values;
  values.reserve(settings().size());
  for (const Setting& setting : settings()) values.push_back({setting.name, value_text(config, setting)});
  return values;
}

std::vector<std::string_view> changes_for_restart(const Config& running, const Config& next) {
  std::vector<std::string_view> names;
  for (const Setting& setting : settings()) {
    const auto differs = [&](auto member) { return running.*member != next.*member; };
    if (setting.reload == Reload::kAtStart && std::visit(differs, setting.member)) names.push_back(setting.name);
  }
  return names;
}

Config in_effect(const Config& running, Config next) {
  for (const Setting& setting : settings()) {
    const auto keep = [&](auto member) { next.*member = running.*member; };
    if (setting.reload == Reload::kAtStart) std::visit(keep, setting.member);
  }
  return next;
}

}  // namespace mete::server
