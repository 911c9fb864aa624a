// What a request's descriptors mean by the rules: for each the rule that matches it, and the key of its meter.
//
// Each level is asked for the entry's "key_value" first, then for the patterns in their file's order, then for the key
// alone; a rule matches where the last entry ends on it. A descriptor may bring a limit of its own, which stands in
// place of the rule's in a domain that is known. A rule that is replaced by another one of the same request is dropped.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/envoy/rules.h"

namespace mete::server::envoy {

struct Entry {
  std::string_view key;
  std::string_view value;
};

// The limit that a request brings with it.
struct RequestedLimit {
  std::uint32_t requests_per_unit = 0;
  RateUnit unit = RateUnit::kUnknown;
};

struct DescriptorAsked {
  std::span<const Entry> entries;
  std::optional<RequestedLimit> limit;
};

struct Match {
  const Rule* rule = nullptr;  // none: nothing limits the descriptor
  std::string key;             // of the meter; the values that the rule leaves open
};

// The descriptor of the configuration that the entries end on; null if one of them meets none.
const Descriptor* find_descriptor(const Level& domain, std::span<const Entry> entries, std::string& composite);

// The rule that one descriptor ends on. `composite` is room for the names that are looked for.
Match match_one(const Level& domain, std::span<const Entry> entries, std::string& composite);

// The same for all of a request's descriptors, replaced rules left out.
std::vector<Match> match_all(const Level& domain, std::span<const DescriptorAsked> descriptors);

// The rule of a limit that a request brings: it is named by the keys and the unit, unlike any rule of a file, and has a
// meter for each list of values. Blocks where the limit is 0.
Rule rule_of(std::string_view domain, std::span<const Entry> entries, const RequestedLimit& limit);
std::string key_of_all(std::span<const Entry> entries);

// Whether a text fits a pattern, in which each * stands for any bytes, none included.
bool fits_pattern(std::string_view text, std::string_view pattern);

}  // namespace mete::server::envoy
