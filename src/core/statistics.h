// Statistics: how much a store keeps. Each number is exact; taken while operations run, they may not fit together.
#pragma once

#include <mete/time.h>

#include <cstddef>
#include <optional>

namespace mete::core {

struct Statistics {
  std::size_t limits = 0;
  std::size_t rules = 0;  // distinct ones, after interning
  std::size_t meters = 0;
  std::size_t overrides = 0;
  std::size_t keys = 0;
  std::size_t expiring_keys = 0;
  std::size_t ids = 0;
  std::size_t open_holds = 0;
  std::size_t expired_holds = 0;  // ever, as far as they have been noticed
  // Expired holds that are still remembered: their workers have probably died. Where the store keeps count of them.
  std::optional<std::size_t> orphans = std::nullopt;
  // Takes that were admitted though the store could not record them, by on_fail = open.
  std::size_t unrecorded_admissions = 0;
  std::size_t memory_bytes = 0;
  // How long it remembers operation ids.
  std::optional<Duration> id_retention = std::nullopt;
};

}  // namespace mete::core
