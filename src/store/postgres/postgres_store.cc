#include "store/postgres/postgres_store.h"

#include <algorithm>

#include "core/refusals.h"
#include "store/open_admission.h"
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

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::kTake:
    case Mode::kPeek:
      return "take";
    case Mode::kUpTo:
      return "up_to";
    case Mode::kForce:
      return "force";
  }
  __builtin_unreachable();
}

}  // namespace

PostgresStore::PostgresStore(Url url, const Options& options)
    : session_(std::move(url)),
      retention_us_(options.id_retention.ns() / kNsPerMicro),
      together_(session_.pool().url().pool / kConnectionsPerCall, kTogetherMax) {}

Result<std::unique_ptr<Store>> PostgresStore::open(std::string_view url, const Options& options) {
  if (options.clock != nullptr) {
    return tl::make_unexpected(Error{ErrorCode::kInvalid, "clock: PostgreSQL has a clock of its own, which decides"});
  }
  auto parsed = parse_url(url);
  if (!parsed) return tl::make_unexpected(parsed.error());
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(*parsed), options));
  if (auto refreshed = store->refresh_book(); !refreshed) return tl::make_unexpected(refreshed.error());
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

Result<core::Verdict> PostgresStore::decide(const Statement& statement, const Parameters& parameters,
                                            std::span<Usage> usages, Session::Effect effect) {
  const auto rows = session_.run(statement, parameters, effect);
  if (!rows) return tl::make_unexpected(rows.error());
  session_.clock().raise(now_us_of(*rows, 0));
  read_usages(*rows, 0, usages);
  return verdict_of(*rows, 0);
}

Result<core::Verdict> PostgresStore::do_take(const TakeRequest& request) {
  if (request.mode == Mode::kPeek) return peek(request);
  if (request.mode == Mode::kTake && request.charges.size() == 1 && request.id.empty() && request.usages.empty()) {
    PlainCharge take = {.charge = request.charges[0]};
    return decide_plainly(take);
  }
  Parameters parameters;
  add_charges(parameters, request.charges);
  parameters.add(name_of(request.mode));
  add_optional_text(parameters, request.id).add_null().add_null();
  parameters.add(false).add(request.remembers_denial).add(retention_us_).add(floor_us()).add(!request.usages.empty());
  auto verdict = decide(kTake, parameters, request.usages, Session::Effect::kChanges);
  return verdict ? verdict : admit_open(request, verdict.error());
}

Result<core::Verdict> PostgresStore::peek(const TakeRequest& request) {
  Parameters parameters;
  add_charges(parameters, request.charges);
  parameters.add(floor_us()).add(!request.usages.empty());
  return decide(kPeek, parameters, request.usages, Session::Effect::kReads);
}

Result<std::optional<core::Verdict>> PostgresStore::do_recall(const TakeRequest& request) {
  Parameters parameters;
  add_charges(parameters, request.charges);
  parameters.add(name_of(request.mode));
  add_text(parameters, request.id).add(retention_us_).add(floor_us());
  const auto rows = session_.run(kRecall, parameters, Session::Effect::kReads);
  if (!rows) return tl::make_unexpected(rows.error());
  if (rows->size() == 0) return std::nullopt;
  session_.clock().raise(now_us_of(*rows, 0));
  return verdict_of(*rows, 0);
}

// While the server cannot be reached: denied by an error, unless each of the limits says that it is open then.
Result<core::Verdict> PostgresStore::admit_open(const TakeRequest& request, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return tl::make_unexpected(error);
  const auto known = book();
  const auto admitted = admit_if_open(request, [&](std::string_view name) {
    const auto limit = known->find(name);
    return limit == known->end() ? std::nullopt : std::optional(WhenAway::of(limit->second));
  });
  if (!admitted) return tl::make_unexpected(error);
  unrecorded_admissions_.fetch_add(1, std::memory_order_relaxed);
  return *admitted;
}

Result<core::Verdict> PostgresStore::do_hold(const HoldRequest& request) {
  const auto ttl_us = micros_of("ttl", request.ttl);
  if (!ttl_us) return tl::make_unexpected(ttl_us.error());
  if (request.charges.size() == 1 && request.usages.empty()) {
    PlainCharge hold = {.charge = request.charges[0],
                        .id = request.id,
                        .is_id_random = request.is_id_random,
                        .ttl_us = *ttl_us,
                        .tag = request.tag};
    return decide_plainly(hold);
  }
  Parameters parameters;
  add_charges(parameters, request.charges);
  add_text(parameters.add(name_of(Mode::kTake)), request.id).add(*ttl_us);
  add_optional_text(parameters, request.tag).add(request.is_id_random).add(true).add(retention_us_).add(floor_us());
  parameters.add(!request.usages.empty());
  return decide(kTake, parameters, request.usages, Session::Effect::kChanges);
}

Result<Settlement> PostgresStore::settle(const Statement& statement, const Parameters& parameters) {
  const auto verdict = decide(statement, parameters, {}, Session::Effect::kChanges);
  if (!verdict) return tl::make_unexpected(verdict.error());
  return Settlement{.amount = verdict->taken, .remaining = verdict->remaining, .limit = verdict->limit};
}

Result<Settlement> PostgresStore::do_give(std::span<const Charge> charges, std::string_view id) {
  Parameters parameters;
  add_charges(parameters, charges);
  add_optional_text(parameters, id).add(retention_us_).add(floor_us());
  return settle(kGive, parameters);
}

Result<Settlement> PostgresStore::do_commit(const CommitRequest& request) {
  Parameters parameters;
  add_text(parameters, request.id).add("commit");
  if (request.amounts.empty()) {
    parameters.add_null();
  } else {
    parameters.add(request.amounts);
  }
  parameters.add(request.allow_overage).add_null().add(retention_us_).add(floor_us());
  return settle(kClose, parameters);
}

Result<Settlement> PostgresStore::do_cancel(std::string_view id) {
  Parameters parameters;
  add_text(parameters, id).add("cancel").add_null().add(false).add_null().add(retention_us_).add(floor_us());
  return settle(kClose, parameters);
}

Result<Duration> PostgresStore::do_extend(std::string_view id, Duration ttl) {
  const auto ttl_us = micros_of("ttl", ttl);
  if (!ttl_us) return tl::make_unexpected(ttl_us.error());
  Parameters parameters;
  add_text(parameters, id).add("extend").add_null().add(false).add(*ttl_us).add(retention_us_).add(floor_us());
  const auto settled = settle(kClose, parameters);
  if (!settled) return tl::make_unexpected(settled.error());
  return ttl;
}

Result<std::vector<HoldInfo>> PostgresStore::read_holds(const Statement& statement, const Parameters& parameters) {
  const auto rows = session_.run(statement, parameters, Session::Effect::kReads);
  if (!rows) return tl::make_unexpected(rows.error());
  session_.clock().raise(holds_now_us(*rows));
  return holds_of(*rows);
}

Result<std::optional<HoldInfo>> PostgresStore::do_find_hold(std::string_view id) {
  Parameters parameters;
  add_text(parameters, id).add(retention_us_).add(floor_us());
  auto holds = read_holds(kFindHold, parameters);
  if (!holds) return tl::make_unexpected(holds.error());
  if (holds->empty()) return std::nullopt;
  return std::move(holds->front());
}

Result<std::vector<HoldInfo>> PostgresStore::do_oldest_holds(std::size_t count_max) {
  Parameters parameters;
  parameters.add(static_cast<std::int64_t>(count_max)).add(floor_us());
  return read_holds(kOldestHolds, parameters);
}

Result<std::vector<std::string>> PostgresStore::read_ids(const Statement& statement, const Parameters& parameters) {
  const auto rows = session_.run(statement, parameters, Session::Effect::kReads);
  if (!rows) return tl::make_unexpected(rows.error());
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < rows->size(); ++i) ids.push_back(from_text(rows->text(i, 0)));
  return ids;
}

Result<std::vector<std::string>> PostgresStore::do_holds(const MeterName& meter, std::size_t count_max) {
  Parameters parameters;
  add_text(add_text(parameters, meter.limit), meter.key);
  const auto count = static_cast<std::int64_t>(std::min<std::size_t>(count_max, kAmountMax));
  return read_ids(kHolds, parameters.add(count).add(floor_us()));
}

Result<std::vector<std::string>> PostgresStore::do_holds_tagged(std::string_view tag) {
  Parameters parameters;
  return read_ids(kHoldsTagged, add_text(parameters, tag).add(floor_us()));
}

Result<Usage> PostgresStore::do_usage(const MeterName& meter) {
  Parameters parameters;
  add_text(add_text(parameters, meter.limit), meter.key).add(floor_us());
  const auto rows = session_.run(kUsage, parameters, Session::Effect::kReads);
  if (!rows) return tl::make_unexpected(rows.error());
  session_.clock().raise(static_cast<std::uint64_t>(rows->integer(0, 5)));
  return usage_of(*rows, 0, 0);
}

Result<Reconciliation> PostgresStore::do_reconcile(const MeterName& meter, Amount used) {
  Parameters parameters;
  add_text(add_text(parameters, meter.limit), meter.key).add(used).add(floor_us());
  const auto rows = session_.run(kReconcile, parameters);
  if (!rows) return tl::make_unexpected(rows.error());
  session_.clock().raise(static_cast<std::uint64_t>(rows->integer(0, 2)));
  return Reconciliation{.used_before = rows->integer(0, 0), .used_now = rows->integer(0, 1)};
}

void PostgresStore::do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  std::atomic<std::size_t> next{0};
  const auto shift_parts = [&] {
    for (;;) {
      const std::size_t first = next.fetch_add(kShiftsTogether);
      if (first >= request.shifts.size()) return;
      const std::size_t count = std::min(kShiftsTogether, request.shifts.size() - first);
      shift_together({.limit = request.limit, .since = request.since, .shifts = request.shifts.subspan(first, count)},
                     answers.subspan(first, count));
    }
  };
  const std::size_t calls = std::min(
      {kShiftCallsMax, session_.pool().url().pool, (request.shifts.size() + kShiftsTogether - 1) / kShiftsTogether});
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < calls; ++i) others.emplace_back(shift_parts);
  shift_parts();
  for (std::thread& other : others) other.join();
}

void PostgresStore::shift_together(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  std::vector<std::string> keys;
  std::vector<std::int64_t> changes;
  for (const Shift& shift : request.shifts) {
    keys.push_back(to_text(shift.key));
    changes.push_back(shift.change);
  }
  Parameters parameters;
  add_text(parameters, request.limit)
      .add(std::span<const std::string>(keys))
      .add(std::span<const std::int64_t>(changes));
  parameters.add(static_cast<std::int64_t>(request.since.ns() / static_cast<std::uint64_t>(kNsPerMicro)))
      .add(floor_us());
  const auto rows = session_.run(kShift, parameters);
  const bool is_refused = !rows && rows.error().code != ErrorCode::kUnavailable;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (rows) {
      answers[i] = Shifted{.change = rows->integer(i, 0), .is_late = rows->boolean(i, 1)};
    } else if (is_refused && answers.size() > 1) {
      shift_together({.limit = request.limit, .since = request.since, .shifts = request.shifts.subspan(i, 1)},
                     answers.subspan(i, 1));
    } else {
      answers[i] = tl::make_unexpected(rows.error());
    }
  }
}

Result<UsagePage> PostgresStore::do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  Parameters parameters;
  add_text(parameters, limit).add(static_cast<std::int64_t>(cursor));
  parameters.add(static_cast<std::int64_t>(std::clamp<std::size_t>(count, 1, kAmountMax))).add(floor_us());
  const auto rows = session_.run(kScan, parameters, Session::Effect::kReads);
  if (!rows) return tl::make_unexpected(rows.error());
  UsagePage page;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    if (rows->is_null(i, 1)) {
      page.cursor = static_cast<std::uint64_t>(rows->integer(i, 0));
    } else {
      page.keys.push_back({from_text(rows->text(i, 1)), usage_of(*rows, i, 2)});
    }
  }
  return page;
}

Result<void> PostgresStore::do_set_override(const MeterName& meter, std::optional<Amount> amount) {
  Parameters parameters;
  add_text(add_text(parameters, meter.limit), meter.key).add(amount).add(floor_us());
  const auto rows = session_.run(kOverride, parameters);
  if (!rows) return tl::make_unexpected(rows.error());
  session_.clock().raise(static_cast<std::uint64_t>(rows->integer(0, 0)));
  return {};
}

Result<std::optional<Amount>> PostgresStore::do_override_of(const MeterName& meter) {
  Parameters parameters;
  add_text(add_text(parameters, meter.limit), meter.key);
  const auto rows = session_.run(kOverrideOf, parameters, Session::Effect::kReads);
  if (!rows) return tl::make_unexpected(rows.error());
  return rows->is_null(0, 0) ? std::nullopt : std::optional<Amount>(rows->integer(0, 0));
}

Result<void> PostgresStore::do_clear() {
  const auto rows = session_.run(kClear, {});
  if (!rows) return tl::make_unexpected(rows.error());
  return {};
}

}  // namespace mete::store::postgres
