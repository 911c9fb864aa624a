#include "cli/serving/config_options.h"

#include "base/names.h"
#include "cli/frame/text.h"
#include "server/configuration/config.h"
#include "server/configuration/config_settings.h"

namespace mete::cli {

namespace {

using server::Setting;
using server::SettingKind;

// Numbers, sizes and addresses are checked where the setting is: there the error tells the range too.
Option option_of(const Setting& setting) {
  Option option{.name = server::flag_name(setting),
                .kind = ValueKind::kText,
                .value_name = "TEXT",
                .help = std::string(setting.help),
                .default_text = server::default_text(setting),
                .environment = server::environment_name(setting)};
  switch (setting.kind) {
    case SettingKind::kBoolean:
      option.kind = ValueKind::kNone;
      option.value_name.clear();
      option.default_text.clear();
      break;
    case SettingKind::kInteger:
      option.value_name = "N";
      break;
    case SettingKind::kSize:
      option.value_name = "SIZE";
      break;
    case SettingKind::kDuration:
      option.value_name = "DURATION";
      break;
    case SettingKind::kName:
      option.value_name = "NAME";
      break;
    case SettingKind::kAddress:
      option.value_name = "ADDRESS";
      break;
    case SettingKind::kAddresses:
      option.value_name = "ADDRESS";
      option.is_repeatable = true;
      break;
    case SettingKind::kFile:
      option.kind = ValueKind::kFile;
      option.value_name = "FILE";
      break;
    case SettingKind::kFolder:
      option.kind = ValueKind::kFolder;
      option.value_name = "DIRECTORY";
      break;
    case SettingKind::kChoice:
      option.kind = ValueKind::kChoice;
      option.value_name = "WORD";
      option.choices = base::split_names(setting.choices);
      break;
    case SettingKind::kUrl:
      option.value_name = "URL";
      break;
    case SettingKind::kSecret:
      break;
  }
  return option;
}

}  // namespace

std::vector<Option> config_options(std::vector<Option> own) {
  own.push_back({"config", ValueKind::kFile, "FILE",
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
