#include "cli/import/import_report.h"

#include <ostream>

#include "cli/frame/table.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

// "70 → 80", and "70" where nothing changes.
std::string step_text(Amount before, Amount after) {
  return before == after ? number_text(before) : number_text(before) + " → " + number_text(after);
}

void print_rest(std::uint64_t total, std::size_t shown, std::ostream& out) {
  if (total > shown) out << "… and " << count_text(total - shown) << " more\n";
}

}  // namespace

void ImportReport::add_skipped(const Findings& findings) {
  earlier_months_ += findings.earlier_months;
  skipped_ += findings.skipped.size();
  for (const SkippedName& skipped : findings.skipped) {
    if (skipped_names_.size() < kSkippedShownMax) skipped_names_.push_back(skipped);
  }
}

void ImportReport::add_change(const Entry& entry, const Standing& standing, const Change& change) {
  if (change.is_none()) {
    ++unchanged_;
    return;
  }
  ++imported_;
  if (change.used) ++usages_;
  if (change.amount) ++amounts_;
  if (changes_.size() == kChangesShownMax) return;
  changes_.push_back(
      {entry.key,
       standing,
       {.used = change.used.value_or(standing.used), .amount = change.amount.value_or(standing.amount)}});
}

void ImportReport::print(std::ostream& out) const {
  if (is_dry_run_ && !changes_.empty()) print_changes(out);
  print_totals(out);
  if (skipped_ > 0) print_skipped(out);
  if (is_dry_run_) out << "\nThis was a dry run: nothing was changed.\n";
}

void ImportReport::print_changes(std::ostream& out) const {
  Table table({{"KEY"}, {"USED", Table::kRight}, {"AMOUNT", Table::kRight}});
  for (const ShownChange& change : changes_) {
    table.add({printable(change.key), step_text(change.before.used, change.after.used),
               step_text(change.before.amount, change.after.amount)});
  }
  out << table.text();
  print_rest(imported_, changes_.size(), out);
  out << '\n';
}

void ImportReport::print_totals(std::ostream& out) const {
  std::string imported = count_text(imported_);
  if (imported_ > 0) imported += " (usage of " + count_text(usages_) + ", amount of " + count_text(amounts_) + ")";
  std::vector<Field> fields = {{is_dry_run_ ? "to import" : "imported", imported},
                               {"unchanged", count_text(unchanged_)},
                               {"skipped", count_text(skipped_)}};
  if (earlier_months_ > 0) fields.emplace_back("skipped, of earlier months", count_text(earlier_months_));
  out << fields_text(fields);
}

void ImportReport::print_skipped(std::ostream& out) const {
  out << '\n';
  Table table({{"SKIPPED"}, {"WHY"}});
  for (const SkippedName& skipped : skipped_names_) table.add({printable(skipped.name), skipped.reason});
  out << table.text();
  print_rest(skipped_, skipped_names_.size(), out);
}

void ImportReport::write(wire::JsonWriter& writer) const {
  const auto member = [&](std::string_view name, std::uint64_t count) {
    writer.member(name, static_cast<std::int64_t>(count));
  };
  writer.member("dry_run", is_dry_run_);
  member("imported", imported_);
  member("usages", usages_);
  member("amounts", amounts_);
  member("unchanged", unchanged_);
  member("skipped", skipped_);
  member("skipped_earlier_months", earlier_months_);
  writer.name("first_changes").begin_array();
  for (const ShownChange& change : changes_) {
    writer.begin_object().member("key", change.key);
    writer.member("used_before", change.before.used).member("used", change.after.used);
    writer.member("amount_before", change.before.amount).member("amount", change.after.amount).end_object();
  }
  writer.end_array().name("first_skipped").begin_array();
  for (const SkippedName& skipped : skipped_names_) {
    writer.begin_object().member("name", skipped.name).member("reason", skipped.reason).end_object();
  }
  writer.end_array();
}

}  // namespace mete::cli
