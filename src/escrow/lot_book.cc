#include "escrow/lot_book.h"

#include "base/try.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kLots = "mete.lots";
constexpr std::size_t kLotsPage = 1000;
// An entry that has used less is the rest of one that was cleared: what was spent of it is not known.
constexpr Amount kIsThere = Amount{1} << 52;

}  // namespace

Result<void> LotBook::open() {
  const auto known = TRY(local_.limit(kLots));
  if (known) return {};
  return local_.define(stock(std::string(kLots)).amount(kAmountMax));
}

Result<void> LotBook::begin(std::string_view id) {
  TRY(local_.reconcile({kLots, id}, kIsThere));
  return {};
}

Result<void> LotBook::spend(std::string_view id, Amount units, store::Execution& execution) {
  if (units == 0) return {};
  const Charge charge{kLots, id, units > 0 ? units : -units};
  if (units > 0) {
    const auto taken = local_.run(core::Take{.charges = {&charge, 1}, .mode = Mode::kForce}, execution);
    if (taken.has_value()) return {};
    if (taken.error().code != ErrorCode::kInvalid) return taken.error();
    // More than can be counted: all of it.
    TRY(local_.run(core::Reconcile{{kLots, id}, kAmountMax}, execution));
  } else {
    TRY(local_.run(core::Give{.charges = {&charge, 1}}, execution));
  }
  return {};
}

Result<void> LotBook::end(std::string_view id) {
  TRY(local_.reconcile({kLots, id}, 0));
  return {};
}

Result<std::vector<LotBook::Entry>> LotBook::entries() {
  std::vector<Entry> all;
  std::uint64_t cursor = 0;
  do {
    const auto page = TRY(local_.scan(kLots, cursor, kLotsPage));
    for (const KeyUsage& each : page.keys) {
      const bool is_known = each.usage.used >= kIsThere && each.usage.used < kAmountMax;
      if (each.usage.used > 0) all.push_back({each.key, is_known ? each.usage.used - kIsThere : kAmountMax});
    }
    cursor = page.cursor;
  } while (cursor != 0);
  return all;
}

Result<void> LotBook::forget() {
  TRY(local_.drop(kLots));
  return open();
}

}  // namespace mete::escrow
