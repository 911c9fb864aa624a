// Takes and holds of one charge, which is what nearly all are. Those that come while others are under way go as one
// transaction, and share what it costs: preparing, committing, the round trip, the wait for the disk.

#include <algorithm>

#include "core/refusals.h"
#include "store/postgres/parameters.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/records.h"
#include "store/postgres/statements.h"

namespace mete::store::postgres {

namespace {

constexpr std::string_view kCancelled = "57014";  // by the time-out: each alone would have no time left either

}  // namespace

Result<core::Verdict> PostgresStore::decide_plainly(PlainCharge& plain) {
  // Two transactions that have several ids each, which others know too, could wait for each other.
  const bool can_join = plain.id.empty() || plain.is_id_random;
  const auto run = [this](std::span<PlainCharge* const> charges) { return decide_together(charges); };
  if (!can_join || !together_.join(plain, run)) decide_alone(plain);
  return std::move(plain.answer);
}

void PostgresStore::decide_alone(PlainCharge& plain) {
  Parameters parameters;
  add_charge(parameters, plain.charge);
  if (plain.id.empty()) {
    parameters.add(floor_us());
    plain.answer = decide(kTakeOne, parameters, {}, Session::Effect::kChanges);
    return;
  }
  add_text(parameters, plain.id).add(plain.ttl_us);
  add_optional_text(parameters, plain.tag).add(plain.is_id_random).add(retention_us_).add(floor_us());
  plain.answer = decide(kHoldOne, parameters, {}, Session::Effect::kChanges);
}

bool PostgresStore::decide_together(std::span<PlainCharge* const> charges) {
  if (charges.size() == 1) {
    decide_alone(*charges[0]);
    return true;
  }
  std::vector<Charge> costs;
  std::vector<std::string> ids;
  std::vector<std::int64_t> ttls_us;
  std::vector<std::string> tags;
  for (const PlainCharge* plain : charges) {
    costs.push_back(plain->charge);
    ids.push_back(to_text(plain->id));
    ttls_us.push_back(plain->ttl_us);
    tags.push_back(to_text(plain->tag));
  }
  Parameters parameters;
  add_charges(parameters, costs).add(std::span<const std::string>(ids)).add(std::span<const std::int64_t>(ttls_us));
  parameters.add(std::span<const std::string>(tags)).add(retention_us_).add(floor_us());
  const auto rows = session_.try_once(kEach, parameters);
  together_.set_distance(session_.pool().distance());
  if (!rows && !rows.error().is_lost && rows.error().state != kCancelled) return false;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    PlainCharge& plain = *charges[i];
    if (!rows) {
      plain.answer = to_error(rows.error());
    } else if (is_none(*rows, i)) {
      plain.answer = core::unknown_limit(plain.charge.limit);
    } else {
      plain.answer = told_verdict(*rows, i, {});
      if (!plain.answer.has_value())
        plain.answer = about(std::move(plain.answer.error()), Parameters().about(plain.charge));
    }
  }
  return true;
}

Result<void> PostgresStore::perform(const core::TakeEach& takes) {
  for (std::size_t first = 0; first < takes.charges.size(); first += kTogetherMax) {
    const std::size_t count = std::min(kTogetherMax, takes.charges.size() - first);
    std::vector<PlainCharge> plain(count);
    std::vector<PlainCharge*> together;
    for (std::size_t i = 0; i < count; ++i) {
      plain[i].charge = takes.charges[first + i];
      together.push_back(&plain[i]);
    }
    const bool is_done = decide_together(together);
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_done) decide_alone(plain[i]);
      takes.answers[first + i] = std::move(plain[i].answer);
    }
  }
  return {};
}

}  // namespace mete::store::postgres
