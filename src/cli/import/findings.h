// Findings: what a look into Redis says of the keys that it found, and what can be imported of it. Pure.
#pragma once

#include <mete/limit.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/import/stored_counter.h"

namespace mete::cli {

// A key that can be imported.
struct Entry {
  std::string key;             // Mete's
  std::optional<Amount> used;  // none: it is not touched
  std::optional<Amount> amount;

  bool operator==(const Entry&) const = default;
};

struct SkippedName {
  std::string name;    // Redis's
  std::string reason;  // to be read behind the name

  bool operator==(const SkippedName&) const = default;
};

struct Findings {
  std::vector<Entry> entries = {};
  std::vector<SkippedName> skipped = {};
  std::uint64_t earlier_months = 0;  // counters of months that are over: skipped, and not named one by one

  bool operator==(const Findings&) const = default;
};

// One of the names that tell about a key.
struct StoredPart {
  std::string name;
  StoredAmount value;
};

// What is used by a key, and how much it has in all; none where that was not asked for. What was asked for must be
// there: a guess would give somebody an amount that is not his. What has gone since it was found is not mentioned.
struct StoredPair {
  std::string key;
  std::optional<StoredPart> used;
  std::optional<StoredPart> amount;
};
void add_pair(const StoredPair& pair, Findings& findings);

// A name of a counter per month, and the key and month in it. Whether it is one of `current`; otherwise that is noted.
struct MonthName {
  std::string name;
  std::string key;
  std::string month;
};
bool is_of_month(const MonthName& name, Month current, Findings& findings);

}  // namespace mete::cli
