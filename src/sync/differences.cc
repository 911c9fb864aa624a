#include "sync/differences.h"

#include <algorithm>
#include <cstdlib>

#include "base/errors.h"

namespace mete::sync {

namespace {

// The first of two is told first: the larger change, and of equal ones the lesser key.
bool is_before(const Difference& a, const Difference& b) {
  const Amount change_a = std::abs(a.change());
  const Amount change_b = std::abs(b.change());
  return change_a != change_b ? change_a > change_b : a.key < b.key;
}

// A heap whose front is told last.
void keep_largest(std::vector<Difference>& heap, const Ledger::Entry& entry, Amount change) {
  const bool is_too_small =
      heap.size() == kDifferencesMax && std::abs(change) < std::abs(heap.front().change());  // mostly: no copy then
  if (is_too_small) return;
  heap.push_back({std::string(entry.key()), entry.mark(), entry.mark() + change});
  std::push_heap(heap.begin(), heap.end(), is_before);
  if (heap.size() <= kDifferencesMax) return;
  std::pop_heap(heap.begin(), heap.end(), is_before);
  heap.pop_back();
}

// False: it would not fit.
bool add(std::int64_t& sum, std::int64_t amount) { return !__builtin_add_overflow(sum, amount, &sum); }

}  // namespace

std::optional<Amount> change_of(const Ledger::Entry& entry, Missing missing) {
  if (entry.has_truth()) return entry.truth() - entry.mark();
  if (missing == Missing::kKeep) return std::nullopt;
  return -entry.mark();
}

Result<void> add_up(const Ledger& ledger, Missing missing, Report& report) {
  bool fits = true;
  for (const Ledger::Entry& entry : ledger.entries()) {
    fits = fits && add(report.used, entry.mark());
    if (entry.has_truth()) ++report.keys;
    if (!entry.has_truth() && entry.mark() > 0) ++report.missing_keys;
    const Amount change = change_of(entry, missing).value_or(0);
    if (change == 0) continue;
    ++report.differing_keys;
    fits = fits && add(report.drift, std::abs(change));
    keep_largest(report.largest, entry, change);
  }
  std::sort(report.largest.begin(), report.largest.end(), is_before);
  if (fits) return {};
  return base::invalid("the amounts add up to more than 9223372036854775807: is the query right?");
}

std::optional<std::string> why_refused(const Plan& plan, const Report& report) {
  constexpr std::string_view kRemedy = "; look at it with a dry run, and force it if it is meant";
  if (report.keys == 0 && report.missing_keys > 0 && plan.missing == Missing::kZero) {
    return "the query has returned no rows, and missing = \"zero\" would set all " +
           std::to_string(report.missing_keys) + " keys in use to 0" + std::string(kRemedy);
  }
  if (!plan.max_change || !plan.max_change->is_passed(report.drift, report.used)) return std::nullopt;
  return "it would change " + std::to_string(report.drift) + " units, of " + std::to_string(report.used) +
         " in use, and max_change is " + plan.max_change->text() + std::string(kRemedy);
}

}  // namespace mete::sync
