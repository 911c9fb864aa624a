// apply_limits: makes the limits of a store what the file says, when the server starts and at every reload.
//
// What stands in the file is so afterwards: new limits are defined, changed ones redefined (what is in use stays in
// use), and those that stood in the previous file and no longer do are retired (file_limits.h), or dropped with their
// meters where the configuration says so. Limits that never stood in the file are left alone.
//
// Everything, time zones included, is checked before the first change; so is that no more limits leave at once than the
// configuration allows: a file that was cut short is not meant. If the store fails in between, what was defined is put
// back as far as the store lets us; limits leave last, for a drop cannot be taken back.
#pragma once

#include <mete/result.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "server/configuration/config.h"
#include "server/limits/file_limits.h"

namespace mete::server {

// Names, in the order of the file.
struct LimitChanges {
  std::vector<std::string> added;  // or back
  std::vector<std::string> changed;
  std::vector<std::string> removed;

  bool operator==(const LimitChanges&) const = default;
};

struct LimitReload {
  std::span<const FileLimit> previous;  // empty when the server starts, and after a loss
  std::span<const FileLimit> next;
  std::size_t removed_max = std::numeric_limits<std::size_t>::max();
  bool drops_removed = false;
};

// Errors begin with the place in the file.
Result<LimitChanges> apply_limits(FileLimits& store, const LimitReload& reload);

// That a limit could be defined, its time zone included. The error begins with the field that it is about.
Result<void> check_limit(const Limit& limit);

}  // namespace mete::server
