// Statistics: how much a store keeps, beside its limits (core/operations.h: ListLimits). Each number is exact; taken
// while operations run, they may not fit together. What a store does not know is absent.
#pragma once

#include <mete/time.h>

#include <cstddef>
#include <optional>

namespace mete::core {

struct Statistics {
  using Count = std::optional<std::size_t>;

  // Limits that have left the server's file, and keep their usage. None: nobody keeps a file.
  Count retired_limits = {};
  Count rules = {};  // distinct ones, after interning
  Count meters = {};
  Count overrides = {};
  Count keys = {};
  Count expiring_keys = {};
  Count ids = {};
  Count open_holds = {};
  Count expired_holds = {};  // ever, as far as they have been noticed
  // Expired holds that are still remembered: their workers have probably died.
  Count orphans = {};
  // Takes that were admitted though the store could not record them, by on_fail = open or local.
  std::size_t unrecorded_admissions = 0;
  // Of limits with on_fail = local, in this process; none: the store is never away.
  Count local_admissions = {};
  Count local_denials = {};
  Count local_lost = {};        // units admitted so that the store has refused to be told of
  Count unsettled_meters = {};  // with something admitted that the store has not been told yet
  Count memory_bytes = {};
  // How long it remembers operation ids.
  std::optional<Duration> id_retention = {};
};

}  // namespace mete::core
