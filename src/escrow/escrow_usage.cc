// How things stand: what is used, held and left of the whole, with what nodes have of it; and what other nodes ask.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "escrow/escrow_store.h"

namespace mete::escrow {

namespace {

// How many keys are looked at to tell what is outstanding.
constexpr int kOutstandingPagesMax = 10;
constexpr std::size_t kOutstandingPage = 1000;

// How often the usage of a meter is looked at, until nothing changes meanwhile.
constexpr int kLooksMax = 5;
constexpr auto kLookPatience = std::chrono::milliseconds(100);

NodeShare share_of(const Shares::Look& look) {
  return {.held = look.held, .spent = look.held_and_spent, .usable = look.usable};
}

// What nodes have spent is used, and what they have not is left: held is what clients hold, and what nodes have that
// were not asked.
Usage without(Usage usage, const NodeShare& shares) {
  usage.used += std::min(shares.spent, usage.held);
  usage.held = std::max<Amount>(0, usage.held - shares.held);
  usage.remaining = std::min(usage.limit, usage.remaining + shares.usable);
  return usage;
}

// The same without the shared store, which does not answer.
Usage as_known(const Shares::Look& look) {
  const Amount remaining = std::min(look.capacity, look.usable + look.known_remaining);
  return {.used = look.capacity - remaining,
          .held = 0,
          .remaining = remaining,
          .limit = look.capacity,
          .reset_after = look.is_stock ? Duration::never() : Duration()};
}

}  // namespace

// Of what is held there, all is some node's share, but for what users hold.
Result<std::optional<Amount>> EscrowStore::outstanding(std::string_view limit) {
  const auto definition = definitions_.known(limit);
  if (!definition || !definition->is_drawn()) return std::nullopt;
  const Shares::LimitTotals here = shares_.totals(limit);
  Amount held = 0;
  std::uint64_t cursor = 0;
  for (int page = 0; page < kOutstandingPagesMax; ++page) {
    const auto usages = TRY(shared_->scan(limit, cursor, kOutstandingPage));
    for (const KeyUsage& each : usages.keys) held += each.usage.held;
    cursor = usages.cursor;
    if (cursor == 0) break;
  }
  return std::max<Amount>(0, held - here.held_and_spent);
}

// What nodes have is held there, spent or not. While an order of this node is under way, the two do not tell of the
// same time; and others are asked first: what they settle meanwhile is not held there any more, and so is not told
// twice.
Result<Usage> EscrowStore::perform(const core::ReadUsage& read, store::Execution& execution) {
  const auto home = TRY(home_of(read.meter.limit));
  if (home != shared_.get()) return home->run(read, execution);
  const NodeShare others = shares_of_others(read.meter.limit, {std::string(read.meter.key)})[0];
  for (int attempt = 0;; ++attempt) {
    const auto before = shares_.look(read.meter, clock_.now());
    if (before && before->has_order_under_way && attempt < kLooksMax) {
      wait_for_order(read.meter, *before);
      continue;
    }
    auto usage = shared_->run(read);
    const auto look = shares_.look(read.meter, clock_.now());
    if (!usage) return look && usage.error().code == ErrorCode::kUnavailable ? as_known(*look) : usage;
    const bool is_same_time = !look || (!look->has_order_under_way && (!before || before->change == look->change));
    if (!is_same_time && attempt < kLooksMax) continue;
    return without(without(*usage, look ? share_of(*look) : NodeShare()), others);
  }
}

std::vector<NodeShare> EscrowStore::shares_of_others(std::string_view limit, std::vector<std::string> keys) {
  const auto definition = definitions_.known(limit);
  const bool can_ask = others_ != nullptr && definition && definition->is_drawn() && !keys.empty();
  if (!can_ask) return std::vector<NodeShare>(keys.size());
  return others_->ask_and_wait({.limit = std::string(limit), .keys = std::move(keys)});
}

Result<std::vector<NodeShare>> EscrowStore::answer(ClusterNumber cluster, const ShareQuestion& question) {
  const bool is_ours = registration_ == nullptr || cluster == registration_->cluster();
  if (!is_ours) return base::invalid("cluster: this node is in another one");
  const auto definition = definitions_.known(question.limit);
  const bool has_shares = definition && definition->is_drawn();
  const bool gives_back = question.gives_back && has_shares && goes_back(*definition->terms);
  std::vector<NodeShare> answers;
  for (const std::string& key : question.keys) {
    const store::MeterName meter{question.limit, key};
    const Amount returned = gives_back ? release(meter) : 0;
    const auto look = has_shares ? shares_.look(meter, clock_.now()) : std::nullopt;
    answers.push_back(look ? share_of(*look) : NodeShare());
    answers.back().returned = returned;
  }
  return answers;
}

bool EscrowStore::wait_for_order(const store::MeterName& meter, const Shares::Look& look) {
  return carrier_->has_threads() && shares_.wait_for_change(meter, look.change, kLookPatience);
}

// With what is on its way, here or there: the other one asks the shared store as soon as it has the answer.
Amount EscrowStore::release(const store::MeterName& meter) {
  Amount returned = 0;
  for (int attempt = 0; attempt < kLooksMax; ++attempt) {
    const auto before = shares_.look(meter, clock_.now());
    if (!before) break;
    const Charge charge{meter.limit, meter.key, 0};
    give_back({&charge, 1});
    const auto after = shares_.look(meter, clock_.now());
    if (!after) break;
    returned += std::max<Amount>(0, before->held - before->held_and_spent - after->held + after->held_and_spent);
    if (!after->has_order_under_way || !wait_for_order(meter, *after)) break;
  }
  return returned;
}

Result<void> EscrowStore::perform(const core::ShiftUsage& shifts, store::Execution& execution) {
  store::Store* const home = TRY(home_of(shifts.limit));
  if (home != shared_.get()) return home->run(shifts, execution);
  for (const store::Shift& each : shifts.shifts) {
    const Charge charge{shifts.limit, each.key, 0};
    give_back({&charge, 1});
  }
  return home->run(shifts);
}

Result<UsagePage> EscrowStore::perform(const core::ScanUsage& scan, store::Execution& execution) {
  store::Store* const home = TRY(home_of(scan.limit));
  if (home != shared_.get()) return home->run(scan, execution);
  auto page = TRY(home->run(scan));
  std::vector<std::string> keys;
  for (const KeyUsage& each : page.keys) keys.push_back(each.key);
  const std::vector<NodeShare> others = shares_of_others(scan.limit, std::move(keys));
  UsagePage told{.cursor = page.cursor, .keys = {}};
  for (std::size_t i = 0; i < page.keys.size(); ++i) {
    KeyUsage& each = page.keys[i];
    const auto look = shares_.look({scan.limit, each.key}, clock_.now());
    each.usage = without(without(each.usage, look ? share_of(*look) : NodeShare()), others[i]);
    const bool is_drawn = look || others[i].held > 0;
    const bool is_spent = each.usage.used + each.usage.held > 0;
    if (is_spent || !is_drawn) told.keys.push_back(std::move(each));
  }
  return told;
}

}  // namespace mete::escrow
