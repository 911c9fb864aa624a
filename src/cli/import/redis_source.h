// RedisSource: the Redis that is imported from. It is only read: SCAN, GET and DBSIZE.
//
// Reading goes on beside everything else that Redis does, a page at a time. What is written meanwhile may be seen or
// not. Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/import/findings.h"
#include "cli/import/key_pattern.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {
class Link;
}

namespace mete::cli {

// Called for each page of names. An error ends the walk.
using OnFindings = std::function<Result<void>(const Findings&)>;

class RedisSource {
 public:
  static Result<RedisSource> open(const std::string& url);
  RedisSource(RedisSource&&) noexcept;
  ~RedisSource();

  // Names of what keys have used, and of what they have in all; one of them at least.
  struct PairPatterns {
    std::optional<KeyPattern> used;
    std::optional<KeyPattern> amount;
  };
  Result<void> read_pairs(const PairPatterns& patterns, const OnFindings& on_findings);
  // Counters of what was used in a month. `pattern` has two stars: the key and the month.
  Result<void> read_months(const KeyPattern& pattern, Month current, const OnFindings& on_findings);

  // How far a walk is, of how much; an estimate.
  struct Progress {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };
  [[nodiscard]] Progress progress() const { return progress_; }

 private:
  using Names = std::vector<std::string>;
  using OnNames = std::function<Result<void>(const Names&)>;

  explicit RedisSource(std::unique_ptr<store::redis::Link> link);

  Result<void> walk(const KeyPattern& pattern, const OnNames& on_names);
  Result<std::size_t> walk_node(std::size_t node, const std::string& glob, const OnNames& on_names);
  Result<std::vector<wire::RespValue>> get(const Names& names);
  // The pairs of these names, which are like `pattern`. Of those that were named by what is used already, none is
  // added, if `pattern` is that of the amounts.
  Result<void> add_pairs(const Names& names, const KeyPattern& pattern, const PairPatterns& patterns,
                         Findings& findings);
  Result<void> expect_walks(std::uint64_t walks);

  std::unique_ptr<store::redis::Link> link_;
  Progress progress_;
};

}  // namespace mete::cli
