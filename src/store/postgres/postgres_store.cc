#include "store/postgres/postgres_store.h"

#include <algorithm>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/postgres/parameters.h"
#include "store/postgres/records.h"
#include "store/postgres/statements.h"
#include "store/remote_clock.h"

namespace mete::store::postgres {

namespace {

// In one call: each holds its rows until all of them are done. And so many calls at a time, since one keeps one of the
// server's cores busy.
constexpr std::size_t kShiftsTogether = 2500;
constexpr std::size_t kShiftCallsMax = 4;

// A peek has a call of its own.
std::string_view name_of(Mode mode) { return base::name_of("take|take|up_to|force", mode); }

// limit 'api', key 'alice'
std::string name_of_meter(std::string_view limit, std::string_view key) {
  return Parameters().about("limit", limit).about("key", key).subject();
}

Result<Shifted> shifted_of(const Rows& rows, std::size_t row, const std::string& whose) {
  return Shifted{.change = TRY(rows.integer(row, 0, whose)), .is_late = TRY(rows.boolean(row, 1, whose))};
}

}  // namespace

PostgresStore::PostgresStore(Url url, const Options& options)
    : session_(std::move(url), options.clock_step_max),
      retention_us_(options.id_retention.ns() / kNsPerMicro),
      together_({.near = kCallsNear, .far = kCallsFar, .together_max = kTogetherMax}) {}

Result<std::unique_ptr<Store>> PostgresStore::open(std::string_view url, const Options& options) {
  if (options.clock != nullptr) {
    return base::invalid("clock: PostgreSQL has a clock of its own, which decides");
  }
  auto parsed = TRY(parse_url(url));
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(parsed), options));
  TRY(store->perform(core::ListLimits()));
  TRY(store->look_at_clock());
  store->upkeep_ = std::thread([self = store.get()] { self->keep_up(); });
  return store;
}

PostgresStore::~PostgresStore() {
  {
    const std::lock_guard guard(stop_mutex_);
    is_stopping_ = true;
  }
  stop_wanted_.notify_all();
  if (upkeep_.joinable()) upkeep_.join();
}

Result<core::Verdict> PostgresStore::told_verdict(const Rows& rows, std::size_t row, std::span<Usage> usages) {
  const auto verdict = TRY(verdict_of(rows, row));
  session_.clock().raise(TRY(now_us_of(rows, row)));
  TRY(read_usages(rows, row, usages));
  return verdict;
}

Result<core::Verdict> PostgresStore::decide(const Statement& statement, const Parameters& parameters,
                                            std::span<Usage> usages, Session::Effect effect) {
  const auto rows = TRY(session_.run(statement, parameters, effect));
  auto verdict = told_verdict(rows, 0, usages);
  if (!verdict.has_value()) return about(std::move(verdict.error()), parameters);
  return verdict;
}

Result<core::Verdict> PostgresStore::perform(const core::Take& take) {
  if (take.mode == Mode::kPeek) return peek(take);
  if (take.mode == Mode::kTake && take.charges.size() == 1 && take.id.empty() && take.usages.empty()) {
    PlainCharge plain = {.charge = take.charges[0]};
    return decide_plainly(plain);
  }
  Parameters parameters;
  add_charges(parameters, take.charges);
  parameters.add(name_of(take.mode));
  add_optional_text(parameters, take.id).add_null().add_null();
  parameters.add(false).add(take.remembers_denial).add(retention_us_).add(floor_us()).add(!take.usages.empty());
  return decide(kTake, parameters, take.usages, Session::Effect::kChanges);
}

Result<core::Verdict> PostgresStore::peek(const Take& request) {
  Parameters parameters;
  add_charges(parameters, request.charges);
  parameters.add(floor_us()).add(!request.usages.empty());
  return decide(kPeek, parameters, request.usages, Session::Effect::kRepeatable);
}

Result<std::optional<core::Verdict>> PostgresStore::perform(const core::Recall& recall) {
  Parameters parameters;
  add_charges(parameters, recall.take.charges);
  parameters.add(name_of(recall.take.mode));
  add_text(parameters, recall.take.id).add(retention_us_).add(floor_us());
  const auto rows = TRY(session_.run(kRecall, parameters, Session::Effect::kRepeatable));
  if (rows.size() == 0) return std::nullopt;
  auto verdict = told_verdict(rows, 0, {});
  if (!verdict.has_value()) return about(std::move(verdict.error()), parameters);
  return *verdict;
}

Result<core::Verdict> PostgresStore::perform(const core::Hold& hold) {
  const auto ttl_us = TRY(micros_of("ttl", hold.ttl));
  if (hold.charges.size() == 1 && hold.usages.empty()) {
    PlainCharge plain = {
        .charge = hold.charges[0], .id = hold.id, .is_id_random = hold.is_id_random, .ttl_us = ttl_us, .tag = hold.tag};
    return decide_plainly(plain);
  }
  Parameters parameters;
  add_charges(parameters, hold.charges);
  add_text(parameters.add(name_of(Mode::kTake)), hold.id).add(ttl_us);
  add_optional_text(parameters, hold.tag).add(hold.is_id_random).add(true).add(retention_us_).add(floor_us());
  parameters.add(!hold.usages.empty());
  return decide(kTake, parameters, hold.usages, Session::Effect::kChanges);
}

Result<Settlement> PostgresStore::settle(const Statement& statement, const Parameters& parameters,
                                         Session::Effect effect) {
  const auto verdict = TRY(decide(statement, parameters, {}, effect));
  return Settlement{.amount = verdict.taken, .remaining = verdict.remaining, .limit = verdict.limit};
}

Result<Settlement> PostgresStore::perform(const core::Give& give) {
  Parameters parameters;
  add_charges(parameters, give.charges);
  add_optional_text(parameters, give.id).add(retention_us_).add(floor_us());
  return settle(kGive, parameters, Session::Effect::kChanges);
}

Result<Settlement> PostgresStore::perform(const core::Commit& commit) {
  Parameters parameters;
  add_hold(parameters, commit.id).add("commit");
  if (commit.amounts.empty()) {
    parameters.add_null();
  } else {
    parameters.add(commit.amounts);
  }
  parameters.add(commit.allow_overage).add_null().add(retention_us_).add(floor_us());
  return settle(kClose, parameters, Session::Effect::kRepeatable);
}

Result<Settlement> PostgresStore::perform(const core::Cancel& cancel) {
  Parameters parameters;
  add_hold(parameters, cancel.id).add("cancel").add_null().add(false).add_null().add(retention_us_).add(floor_us());
  return settle(kClose, parameters, Session::Effect::kRepeatable);
}

Result<Duration> PostgresStore::perform(const core::Extend& extend) {
  const auto ttl_us = TRY(micros_of("ttl", extend.ttl));
  Parameters parameters;
  add_hold(parameters, extend.id).add("extend").add_null().add(false).add(ttl_us).add(retention_us_).add(floor_us());
  TRY(settle(kClose, parameters, Session::Effect::kRepeatable));
  return extend.ttl;
}

Result<std::vector<HoldInfo>> PostgresStore::read_holds(const Statement& statement, const Parameters& parameters) {
  const auto rows = TRY(session_.run(statement, parameters, Session::Effect::kRepeatable));
  session_.clock().raise(TRY(holds_now_us(rows)));
  return holds_of(rows);
}

Result<std::optional<HoldInfo>> PostgresStore::perform(const core::FindHold& find) {
  Parameters parameters;
  add_hold(parameters, find.id).add(retention_us_).add(floor_us());
  auto holds = TRY(read_holds(kFindHold, parameters));
  if (holds.empty()) return std::nullopt;
  return std::move(holds.front());
}

Result<std::vector<HoldInfo>> PostgresStore::perform(const core::OldestHolds& oldest) {
  Parameters parameters;
  parameters.add(static_cast<std::int64_t>(oldest.count_max)).add(floor_us());
  return read_holds(kOldestHolds, parameters);
}

Result<std::vector<std::string>> PostgresStore::read_ids(const Statement& statement, const Parameters& parameters) {
  const auto rows = TRY(session_.run(statement, parameters, Session::Effect::kRepeatable));
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < rows.size(); ++i) ids.push_back(from_text(rows.text(i, 0)));
  return ids;
}

Result<std::vector<std::string>> PostgresStore::perform(const core::ListHolds& list) {
  Parameters parameters;
  add_meter(parameters, list.meter);
  const auto count = static_cast<std::int64_t>(std::min<std::size_t>(list.count_max, kAmountMax));
  return read_ids(kHolds, parameters.add(count).add(floor_us()));
}

Result<std::vector<std::string>> PostgresStore::perform(const core::ListTagged& list) {
  Parameters parameters;
  return read_ids(kHoldsTagged, add_text(parameters, list.tag).add(floor_us()));
}

Result<Usage> PostgresStore::perform(const core::ReadUsage& read) {
  Parameters parameters;
  add_meter(parameters, read.meter).add(floor_us());
  const auto rows = TRY(session_.run(kUsage, parameters, Session::Effect::kRepeatable));
  const auto usage = TRY(usage_of(rows, 0, 0, parameters.subject()));
  session_.clock().raise(TRY(rows.micros(0, 5, parameters.subject())));
  return usage;
}

Result<Reconciliation> PostgresStore::perform(const core::Reconcile& reconcile) {
  Parameters parameters;
  add_meter(parameters, reconcile.meter).add(reconcile.used).add(floor_us());
  const auto rows = TRY(session_.run(kReconcile, parameters));
  const std::string whose = parameters.subject();
  session_.clock().raise(TRY(rows.micros(0, 2, whose)));
  return Reconciliation{.used_before = TRY(rows.amount(0, 0, whose)), .used_now = TRY(rows.amount(0, 1, whose))};
}

Result<void> PostgresStore::perform(const core::ShiftUsage& shifts) {
  std::atomic<std::size_t> next{0};
  const auto shift_parts = [&] {
    for (;;) {
      const std::size_t first = next.fetch_add(kShiftsTogether);
      if (first >= shifts.shifts.size()) return;
      shift_together(shifts.part(first, kShiftsTogether));
    }
  };
  const std::size_t calls = std::min(
      {kShiftCallsMax, session_.pool().url().pool, (shifts.shifts.size() + kShiftsTogether - 1) / kShiftsTogether});
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < calls; ++i) others.emplace_back(shift_parts);
  shift_parts();
  for (std::thread& other : others) other.join();
  return {};
}

void PostgresStore::shift_together(const ShiftUsage& shifts) {
  std::vector<std::string> keys;
  std::vector<std::int64_t> changes;
  for (const Shift& shift : shifts.shifts) {
    keys.push_back(to_text(shift.key));
    changes.push_back(shift.change);
  }
  Parameters parameters;
  add_limit(parameters, shifts.limit)
      .add(std::span<const std::string>(keys))
      .add(std::span<const std::int64_t>(changes));
  parameters.add(static_cast<std::int64_t>(shifts.since.ns() / static_cast<std::uint64_t>(kNsPerMicro)))
      .add(floor_us());
  const auto rows = session_.run(kShift, parameters);
  const bool is_refused = !rows && rows.error().code != ErrorCode::kUnavailable;
  for (std::size_t i = 0; i < shifts.answers.size(); ++i) {
    if (rows) {
      shifts.answers[i] = shifted_of(*rows, i, name_of_meter(shifts.limit, shifts.shifts[i].key));
    } else if (is_refused && shifts.answers.size() > 1) {
      shift_together(shifts.part(i, 1));
    } else {
      shifts.answers[i] = rows.error();
    }
  }
}

Result<UsagePage> PostgresStore::perform(const core::ScanUsage& scan) {
  Parameters parameters;
  add_limit(parameters, scan.limit).add(static_cast<std::int64_t>(scan.cursor));
  parameters.add(static_cast<std::int64_t>(std::clamp<std::size_t>(scan.count, 1, kAmountMax))).add(floor_us());
  const auto rows = TRY(session_.run(kScan, parameters, Session::Effect::kRepeatable));
  UsagePage page;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.is_null(i, 1)) {
      page.cursor = static_cast<std::uint64_t>(TRY(rows.amount(i, 0, parameters.subject())));
    } else {
      std::string key = from_text(rows.text(i, 1));
      const auto usage = TRY(usage_of(rows, i, 2, name_of_meter(scan.limit, key)));
      page.keys.push_back({std::move(key), usage});
    }
  }
  return page;
}

Result<void> PostgresStore::perform(const core::Override& change) {
  Parameters parameters;
  add_meter(parameters, change.meter).add(change.amount).add(floor_us());
  const auto rows = TRY(session_.run(kOverride, parameters));
  session_.clock().raise(TRY(rows.micros(0, 0, parameters.subject())));
  return {};
}

Result<std::optional<Amount>> PostgresStore::perform(const core::FindOverride& find) {
  Parameters parameters;
  add_meter(parameters, find.meter);
  const auto rows = TRY(session_.run(kOverrideOf, parameters, Session::Effect::kRepeatable));
  if (rows.is_null(0, 0)) return std::nullopt;
  return TRY(rows.amount(0, 0, parameters.subject()));
}

Result<void> PostgresStore::perform(const core::Clear& /*clear*/) {
  TRY(session_.run(kClear, {}));
  return {};
}

}  // namespace mete::store::postgres
