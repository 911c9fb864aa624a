// The settings of mete.toml, each declared once. From this table come the reading of the file, of the environment and
// of flags, `mete serve --help`, CONFIG GET and docs/configuration.md.
//
// To add a setting: a member of Config with its default, and a row in config_settings.cc.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/configuration/config.h"

namespace mete::server {

// What a setting's text means; the member it is bound to has the type beside it.
enum class SettingKind : std::uint8_t {
  kSecret,     // std::string: never printed
  kUrl,        // std::string: what may be a password in it is never printed
  kFile,       // std::string: a path
  kFolder,     // std::string: a path
  kChoice,     // std::string: one of Setting::choices
  kBoolean,    // bool
  kInteger,    // std::size_t
  kSize,       // std::size_t: bytes, "64kb"
  kDuration,   // Duration: "5m"
  kName,       // std::string: a node's
  kAddress,    // std::string
  kAddresses,  // std::vector<std::string>: separated by commas
  kHosts,      // std::vector<std::string>: names, separated by commas
};

using SettingMember = std::variant<std::string Config::*, bool Config::*, std::size_t Config::*, Duration Config::*,
                                   std::vector<std::string> Config::*>;

enum class Reload : std::uint8_t {
  kAtStart,
  kFromFile,  // when the configuration is read again
  kAtOnce,    // then, and by CONFIG SET
};

// Of a kInteger, kSize or kDuration (in milliseconds).
struct SettingRange {
  std::size_t min = 0;
  std::size_t max = std::numeric_limits<std::int64_t>::max();
  bool is_zero_special = false;  // 0 is outside of the range and yet allowed; the help says what it means
};

struct Setting {          // NOLINT(clang-analyzer-optin.performance.Padding): in the order in which it is said
  std::string_view name;  // "server.tls.cert": the section, and the key in it
  SettingKind kind;
  SettingMember member;
  Reload reload;
  std::string_view help;  // a sentence without its full stop
  SettingRange range = {};
  std::string_view choices = {};   // "a|b|c"
  std::string_view own_flag = {};  // where the flag is not the key
};

std::span<const Setting> settings();

std::string environment_name(const Setting& setting);  // "METE_SERVER_TLS_CERT"
std::string flag_name(const Setting& setting);         // "tls-cert", "escrow-tls-cert"
std::string default_text(const Setting& setting);
// "1 to 1000000", "auto, text or json"; empty where any text will do.
std::string range_text(const Setting& setting);

// The URL with *** in the place of its user, and of what a parameter says is a password.
std::string without_password(std::string url);

const Setting* find_setting(std::string_view name);
// The error is about the value alone: it names neither setting nor source.
Result<void> set_value(Config& config, const Setting& setting, std::string_view text);
std::string value_text(const Config& config, const Setting& setting);

}  // namespace mete::server
