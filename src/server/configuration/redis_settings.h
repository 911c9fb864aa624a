// Settings by the names, units and meanings that tools for Redis know, beside our own: for CONFIG GET and CONFIG SET.
#pragma once

#include <mete/result.h>

#include <span>
#include <string>
#include <string_view>

#include "server/configuration/config.h"

namespace mete::server {

struct RedisSetting {
  std::string_view name;
  std::string_view own_name;  // of the setting behind it; empty: it is always the same
  std::string (*show)(const Config& config);
  Result<void> (*set)(Config& config, std::string_view text);  // null: not while the server runs
};

std::span<const RedisSetting> redis_settings();

// What CONFIG SET does with one setting, ours or Redis's. The error is complete, and has changed nothing.
Result<void> set_while_running(Config& config, std::string_view name, std::string_view text);

}  // namespace mete::server
