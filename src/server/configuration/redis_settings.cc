#include "server/configuration/redis_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "server/configuration/config_settings.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::int64_t kSlowLogMaxUs = 86'400'000'000;  // a day

Result<void> set_connections(Config& config, std::string_view text) {
  const Setting* const setting = find_setting("server.max_connections");
  CHECK(setting != nullptr);
  return set_value(config, *setting, text);
}

// In microseconds; -1 stands for none, and 0 for every command that is timed: for us, those of a nanosecond and more.
std::string show_slow_log(const Config& config) {
  if (config.slowlog_threshold == Duration()) return "-1";
  return std::to_string(config.slowlog_threshold.ns() / 1000);
}

Result<void> set_slow_log(Config& config, std::string_view text) {
  const auto us = wire::parse_integer(text);
  if (!us || *us < -1 || *us > kSlowLogMaxUs) {
    return base::invalid(fmt::format("{} is out of range; it must be -1 (none), 0 (all) or microseconds up to {}",
                                     wire::quote(text), kSlowLogMaxUs));
  }
  config.slowlog_threshold = *us < 0    ? Duration()
                             : *us == 0 ? Duration::from_ns(1)
                                        : Duration(std::chrono::microseconds(*us));
  return {};
}

// "3600 1": after so many seconds, if so much has changed.
std::string show_save(const Config& config) {
  if (config.data_directory().empty() || config.snapshot_every == Duration()) return {};
  return std::to_string(config.snapshot_every.seconds()) + " 1";
}

std::string show_append_only(const Config& config) { return config.data_directory().empty() ? "no" : "yes"; }

constexpr RedisSetting kRedisSettings[] = {
    {"save", "server.snapshot_every", show_save, nullptr},
    {"appendonly", "server.data", show_append_only, nullptr},
    {"dir", "server.data", [](const Config& config) { return config.data_directory(); }, nullptr},
    {"databases", "", [](const Config&) { return std::string("1"); }, nullptr},
    {"maxclients", "server.max_connections",
     [](const Config& config) { return std::to_string(config.max_connections); }, set_connections},
    {"maxmemory", "server.max_memory", [](const Config& config) { return std::to_string(config.max_memory); }, nullptr},
    {"maxmemory-policy", "", [](const Config&) { return std::string("noeviction"); }, nullptr},
    {"slowlog-log-slower-than", "server.slowlog_threshold", show_slow_log, set_slow_log},
    {"timeout", "server.idle_timeout",
     [](const Config& config) { return std::to_string(config.idle_timeout.seconds()); }, nullptr},
};

Result<void> set_as_redis(Config& config, const RedisSetting& setting, std::string_view text) {
  if (setting.own_name.empty()) return base::invalid(fmt::format("{} cannot be changed", setting.name));
  if (setting.set == nullptr) {
    return base::invalid(
        fmt::format("{} can only be set when the server starts, as {}", setting.name, setting.own_name));
  }
  return setting.set(config, text).map_error([&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", setting.name, error.message)};
  });
}

}  // namespace

std::span<const RedisSetting> redis_settings() { return kRedisSettings; }

Result<void> set_while_running(Config& config, std::string_view name, std::string_view text) {
  const auto* const redis =
      std::find_if(std::begin(kRedisSettings), std::end(kRedisSettings),
                   [&](const RedisSetting& each) { return wire::equals_ignoring_case(each.name, name); });
  if (redis != std::end(kRedisSettings)) return set_as_redis(config, *redis, text);
  const Setting* const setting = find_setting(name);
  if (setting == nullptr) {
    return base::invalid(fmt::format("unknown setting {}: CONFIG GET * lists them", wire::quote(name)));
  }
  if (setting->reload == Reload::kAtStart) {
    return base::invalid(fmt::format("{} can only be set when the server starts", setting->name));
  }
  if (setting->reload == Reload::kFromFile) {
    return base::invalid(
        fmt::format("{} is changed where it comes from, and then read again by SIGHUP", setting->name));
  }
  return set_value(config, *setting, text).map_error([&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", setting->name, error.message)};
  });
}

}  // namespace mete::server
