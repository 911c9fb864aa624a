// ImportReport: what an import has done, or would do: totals, and the first of those who need a look.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/import/import_target.h"
#include "wire/json.h"

namespace mete::cli {

class ImportReport {
 public:
  static constexpr std::size_t kChangesShownMax = 10;
  static constexpr std::size_t kSkippedShownMax = 10;

  explicit ImportReport(bool is_dry_run) : is_dry_run_(is_dry_run) {}

  // What was found is skipped, or else counted by add_change().
  void add_skipped(const Findings& findings);
  void add_change(const Entry& entry, const Standing& standing, const Change& change);

  // Keys and names that were looked at.
  [[nodiscard]] std::uint64_t seen() const { return imported_ + unchanged_ + skipped_ + earlier_months_; }
  [[nodiscard]] std::uint64_t imported() const { return imported_; }
  // Whether something could not be imported. What belongs to an earlier month need not be.
  [[nodiscard]] bool has_skipped() const { return skipped_ > 0; }

  void print(std::ostream& out) const;
  void write(wire::JsonWriter& writer) const;

 private:
  struct ShownChange {
    std::string key;
    Standing before;
    Standing after;
  };

  void print_changes(std::ostream& out) const;
  void print_totals(std::ostream& out) const;
  void print_skipped(std::ostream& out) const;

  bool is_dry_run_;
  std::uint64_t imported_ = 0;  // keys for which something was set
  std::uint64_t usages_ = 0;
  std::uint64_t amounts_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t earlier_months_ = 0;
  std::vector<ShownChange> changes_;  // the first of them
  std::vector<SkippedName> skipped_names_;
};

}  // namespace mete::cli
