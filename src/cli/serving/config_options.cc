#include "cli/serving/config_options.h"

#include <deque>
#include <utility>

#include "base/names.h"
#include "cli/frame/text.h"
#include "server/configuration/config.h"
#include "server/configuration/config_settings.h"

namespace mete::cli {

namespace {

using server::Setting;
using server::SettingKind;

// Kept for as long as the program runs, as the table of commands is.
std::string_view kept(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text));
}

// What stands behind the option, in the order of SettingKind; a boolean has nothing.
constexpr std::string_view kValueNames = "TEXT|URL|FILE|DIRECTORY|WORD||N|SIZE|DURATION|NAME|ADDRESS|ADDRESS|NAME";

// Numbers, sizes and addresses are checked where the setting is: there the error tells the range too.
ArgumentType type_of(SettingKind kind) {
  if (kind == SettingKind::kBoolean) return ArgumentType::kFlag;
  if (kind == SettingKind::kFile) return ArgumentType::kFile;
  if (kind == SettingKind::kFolder) return ArgumentType::kFolder;
  return kind == SettingKind::kChoice ? ArgumentType::kName : ArgumentType::kText;
}

Argument option_of(const Setting& setting) {
  const bool is_flag = setting.kind == SettingKind::kBoolean;
  return {.word = kept(server::flag_name(setting)),
          .type = type_of(setting.kind),
          .name = base::name_of(kValueNames, setting.kind),
          .help = setting.help,
          .default_text = is_flag ? "" : kept(server::default_text(setting)),
          .environment = kept(server::environment_name(setting)),
          .names = setting.choices,
          .is_multiple = setting.kind == SettingKind::kAddresses || setting.kind == SettingKind::kHosts};
}

}  // namespace

std::vector<Argument> config_options(std::vector<Argument> own) {
  own.push_back({"config", ArgumentType::kFile, "FILE",
                 "The configuration, in TOML; docs/configuration.md has the settings", "", "METE_CONFIG"});
  for (const Setting& setting : server::settings()) own.push_back(option_of(setting));
  return own;
}

server::ConfigSources config_sources(const Invocation& invocation, const Console& console) {
  server::ConfigSources sources{.file = invocation.value("config", console), .environment = console.environment};
  for (const Setting& setting : server::settings()) {
    const std::string name = server::flag_name(setting);
    const auto found = invocation.options.find(name);
    if (found == invocation.options.end()) continue;
    sources.flags[name] = joined(found->second, ",");
  }
  return sources;
}

}  // namespace mete::cli
