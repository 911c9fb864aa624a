#include "lab/sim/whole/account.h"

#include <algorithm>
#include <map>

#include "base/math.h"

namespace mete::sim {

void Account::raise_to(const Limit& limit) {
  const Amount amount = std::max(limit_.amount(), limit.amount());
  const std::optional<Amount> burst = std::max(limit_.burst(), limit.burst());
  limit_ = limit;
  limit_.amount(amount);
  if (burst) limit_.burst(*burst);
}

std::string Account::over(Amount admitted, Amount available) const {
  return "over the limit: " + std::to_string(admitted) + " of " + limit_.name() + ", a " +
         std::string(to_string(limit_.kind())) + ", were admitted, and there were " + std::to_string(available);
}

// In the order in which they may have been decided at the latest; what was given back, at the earliest.
std::vector<Account::Entry> Account::in_order() const {
  std::vector<Entry> entries = entries_;
  const auto time_of = [](const Entry& entry) { return entry.units < 0 ? entry.span.asked : entry.span.told; };
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    const bool is_same = time_of(a) == time_of(b);
    return is_same ? a.units < 0 && b.units > 0 : time_of(a) < time_of(b);
  });
  return entries;
}

std::optional<std::string> Account::excess() const {
  if (limit_.kind() == Kind::kStock) return excess_of_stock();
  return limit_.kind() == Kind::kBucket ? excess_of_bucket() : excess_of_windows();
}

std::optional<std::string> Account::excess_of_stock() const {
  const Amount available = limit_.amount() + maybe_given_back_;
  Amount used = 0;
  for (const Entry& entry : in_order()) {
    used += entry.units;
    if (used > available) return over(used, available);
  }
  return std::nullopt;
}

// A sliding window admits no more in any window of its length than a window does. A calendar's period does not end
// here.
std::optional<std::string> Account::excess_of_windows() const {
  const Amount available = limit_.amount() + maybe_given_back_;
  const std::uint64_t period = base::to_unsigned(limit_.period().value_or(kPeriodMax).ns());
  std::map<std::uint64_t, Amount> used;
  for (const Entry& entry : in_order()) {
    const std::uint64_t first = entry.span.asked.ns() / period;
    const std::uint64_t last = entry.span.told.ns() / period;
    if (entry.units > 0 && first != last) continue;
    for (std::uint64_t window = first; window <= last; ++window) used[window] += entry.units;
    if (used[last] > available) return over(used[last], available);
  }
  return std::nullopt;
}

// In every stretch of time: the burst, and what has come in it.
std::optional<std::string> Account::excess_of_bucket() const {
  const std::int64_t period = limit_.period().value_or(kPeriodMax).ns();
  const Amount burst = limit_.burst().value_or(limit_.amount()) + maybe_given_back_;
  const std::vector<Entry> entries = in_order();
  for (const Entry& first : entries) {
    Amount used = 0;
    for (const Entry& entry : entries) {
      if (entry.span.asked < first.span.asked) continue;
      used += entry.units;
      const std::int64_t length = (entry.span.told - first.span.asked).ns();
      const auto come = base::div_ceil(base::multiply(base::to_unsigned(length), base::to_unsigned(limit_.amount())),
                                       base::to_unsigned(period));
      const Amount available = burst + base::saturate(come, kAmountMax / 2);
      if (used > available) return over(used, available);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Account::discrepancy(Amount charged) const {
  Amount used = 0;
  for (const Entry& entry : entries_) used += entry.units;
  const std::string told = std::to_string(charged) + " of " + limit_.name() +
                           " are charged, and clients were told of " + std::to_string(used) + ", and may have " +
                           std::to_string(maybe_admitted_) + " more and " + std::to_string(maybe_given_back_) + " less";
  if (charged < used - maybe_given_back_) return "charged too little: " + told;
  if (charged > used + maybe_admitted_) return "something is lost: " + told;
  return std::nullopt;
}

}  // namespace mete::sim
