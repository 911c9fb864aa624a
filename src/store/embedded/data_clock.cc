#include "store/embedded/data_clock.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/try.h"
#include "core/meter.h"
#include "engine/operations.h"
#include "engine/records/change.h"
#include "engine/records/change_codec.h"
#include "engine/records/snapshot_walk.h"
#include "engine/table/rule_table.h"
#include "store/embedded/data_directory.h"

namespace mete::store {

namespace {

constexpr std::size_t kPageKeys = 1000;

struct Times {
  Instant then;
  Instant now;

  [[nodiscard]] Instant moved(Instant at) const { return at > then ? now + (at - then) : std::min(at, now); }
};

// What does not depend on meters: it is written as it is, at another time.
class Mover final : public engine::ChangeVisitor {
 public:
  Mover(const Times& times, engine::Encoder& out) : times_(times), out_(out) {}

  Result<void> visit(engine::MeterChange& /*change*/) override { return {}; }
  Result<void> visit(engine::OperationChange& /*change*/) override { return {}; }
  Result<void> visit(engine::DropChange& /*change*/) override { return {}; }
  Result<void> visit(engine::ClearChange& /*change*/) override { return {}; }
  Result<void> visit(engine::OverrideChange& change) override { return write(change); }
  Result<void> visit(engine::NumbersChange& change) override { return write(change); }
  Result<void> visit(engine::LimitChange& change) override {
    change.changed_at = std::min(change.changed_at, times_.now);
    return write(change);
  }
  Result<void> visit(engine::KeyChange& change) override {
    if (change.type != core::KeyType::kCounter) {
      move_state(change);
      change.state = {state_.data(), change.state.size()};
    } else if (change.expires_at != Instant::max()) {
      change.expires_at = times_.moved(change.expires_at);
    }
    return write(change);
  }

 private:
  template <class Change>
  Result<void> write(const Change& change) {
    engine::write_change(out_, change);
    return {};
  }
  // As much is used as was.
  void move_state(const engine::KeyChange& change) {
    const engine::RuleRecord rule(change.rule, std::nullopt);
    core::State state;
    std::memcpy(static_cast<void*>(&state), change.state.data(), std::min(sizeof state, change.state.size()));
    const Amount used = core::used(change.rule, state, rule.moment(state, times_.then));
    core::State moved;
    core::set_used(change.rule, moved, used, rule.moment(moved, times_.now));
    state_.assign(sizeof moved, '\0');
    std::memcpy(state_.data(), &moved, sizeof moved);
  }

  const Times& times_;
  engine::Encoder& out_;
  std::string state_;
};

Result<void> move_holds(engine::Engine& from, const Times& times, TurnedBack& result) {
  for (const HoldInfo& hold : from.oldest_holds(std::numeric_limits<std::size_t>::max(), times.then)) {
    std::vector<Charge> charges;
    for (const HeldCharge& held : hold.charges) charges.push_back({held.limit, held.key, held.amount});
    const auto held = engine::run(
        *result.engine, core::Hold{.charges = charges, .ttl = hold.expires_in, .id = hold.id, .tag = hold.tag},
        {times.now});
    ++(held.has_value() && held->is_allowed ? result.holds : result.holds_lost);
  }
  return {};
}

Result<void> move_meters(engine::Engine& from, const std::string& limit, const Times& times, TurnedBack& result) {
  std::uint64_t cursor = 0;
  do {
    const auto page = TRY(from.scan(limit, cursor, kPageKeys, times.then));
    for (const KeyUsage& each : page.keys) {
      const core::MeterName meter{limit, each.key};
      // What was held by a hold that could not be made again is used.
      const auto held = TRY(engine::run(*result.engine, core::ReadUsage{meter}, {times.now}));
      const Amount used = each.usage.used + std::max<Amount>(each.usage.held - held.held, 0);
      TRY(engine::run(*result.engine, core::Reconcile{meter, used}, {times.now}));
      ++result.meters;
    }
    cursor = page.cursor;
  } while (cursor != 0);
  return {};
}

}  // namespace

Result<TurnedBack> turn_back(engine::Engine& engine, Instant then, Instant now) {
  const Times times{then, now};
  TurnedBack result;
  result.engine = std::make_unique<engine::Engine>(engine_config(Options(), base::random_number()));
  {
    engine::Engine::SnapshotWalk walk(engine);
    engine::Encoder record;
    while (walk.next(record)) {
      engine::Encoder moved;
      Mover mover(times, moved);
      TRY(engine::read_changes(record.view(), mover));
      if (!moved.is_empty()) TRY(result.engine->restore(moved.view()));
    }
  }
  result.engine->finish_restoring(now);
  TRY(move_holds(engine, times, result));
  for (const std::string& limit : engine.limits()) TRY(move_meters(engine, limit, times, result));
  return result;
}

}  // namespace mete::store
