// RuleBook: the rules that are in force, and the files that they come from.
//
// A limit of a rule is defined in the store when the rule is first asked after it was read: ten thousand rules cost a
// store elsewhere nothing at the start, and a changed rule redefines its limit, which keeps its usage. What a request
// brings of its own is defined likewise.
//
// Thread safety: all of it may be called from any thread.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/envoy/rules.h"

namespace mete::server::envoy {

// The files of a folder whose names end in .yaml or .yml, in the order of their names; or the one file that a path
// names.
Result<std::vector<RulesFile>> read_rules_files(const std::string& path);

class RuleBook {
 public:
  // In place of what is in force, which stays where that fails.
  Result<void> load(const std::string& path);

  // Null before anything was loaded.
  [[nodiscard]] std::shared_ptr<const Rules> rules() const;

  // Defines the limit by `define`, unless that was done already. `again`: the store does not know it after all.
  Result<void> see_to(const Limit& limit, const std::function<Result<void>(const Limit&)>& define, bool again = false);

 private:
  // Requests may bring any number of limits of their own.
  static constexpr std::size_t kDefinedMax = 100'000;

  mutable std::mutex mutex_;
  std::shared_ptr<const Rules> rules_;
  std::unordered_map<std::string, Limit> defined_;
};

}  // namespace mete::server::envoy
