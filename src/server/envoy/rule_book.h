// RuleBook: the rules that are in force, and the files that they come from.
//
// Where the store is in this process, all limits of the rules are defined in it before the rules come into force. A
// store elsewhere would be asked ten thousand times at the start for that: there a limit is defined when a request
// first meets its rule. Either way a limit that is in use and has changed is defined before, and keeps its usage.
//
// Thread safety: all of it may be called from any thread; load() by one at a time.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/envoy/own_limits.h"
#include "server/envoy/rules.h"

namespace mete::server::envoy {

// The files of a folder whose names end in .yaml or .yml, in the order of their names; or the one file that a path
// names.
Result<std::vector<RulesFile>> read_rules_files(const std::string& path);

class RuleBook {
 public:
  // How limits get into the store.
  struct Definer {
    std::function<Result<void>(const Limit& limit)> check;  // whether the store could keep it
    std::function<Result<void>(const Limit& limit)> define;
    bool defines_all = true;  // else those that have been in use, and the others when they are
  };

  // In place of what is in force, which stays where that fails. May take long.
  Result<void> load(const std::string& path, const Definer& definer);

  // Null before anything was loaded.
  [[nodiscard]] std::shared_ptr<const Rules> rules() const;
  // The limits that requests bring with them.
  [[nodiscard]] OwnLimits& own_limits() { return own_limits_; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Rules> rules_;
  OwnLimits own_limits_;
};

}  // namespace mete::server::envoy
