#include "store/etcd/image.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/try.h"
#include "store/etcd/entry.h"

namespace mete::store::etcd {

namespace {

// Of the engine's hashes, which the fingerprints of operations are made with: the same for all who use this etcd.
constexpr std::uint64_t kSeed = 0x6d657465;

std::string text_of(const EntryName& entry) { return key_of("", entry); }

Error damaged(const EntryName& entry, const Error& why) {
  return base::invalid("etcd's key '" + text_of(entry) + "' cannot be used: " + why.message);
}

Result<Record> record_of(const EntryName& entry, const Slot& slot) { return decode_record(slot.value, text_of(entry)); }

}  // namespace

Result<LatestWritten> latest_of(const Image& image) {
  LatestWritten latest;
  for (const auto& [entry, slot] : image) {
    if (slot.revision == 0) continue;
    const auto record = TRY(record_of(entry, slot));
    if (record.written_at > latest.at) latest = {.at = record.written_at, .entry = entry};
  }
  return latest;
}

Result<std::uint64_t> next_serial_of(const Image& image) {
  std::uint64_t next = 1;
  for (const auto& [entry, slot] : image) {
    if (slot.revision == 0 || entry.space != Space::kMeter) continue;
    const auto record = TRY(record_of(entry, slot));
    const auto read = visit_each<engine::MeterChange>(record.changes, [&](engine::MeterChange& meter) {
      for (const engine::PartChange& part : meter.added) next = std::max(next, part.serial + 1);
    });
    if (!read) return damaged(entry, read.error());
  }
  return next;
}

Result<Revisions> revisions_of(const Slot& slot, const EntryName& entry) {
  Revisions revisions;
  if (slot.revision == 0) return revisions;
  const auto record = TRY(record_of(entry, slot));
  revisions.first = record.revision;
  const auto read = visit_each<engine::LimitChange>(record.changes, [&](engine::LimitChange& limit) {
    engine::Encoder encoder;
    write_change(encoder, limit);
    revisions.changes.emplace_back(encoder.view());
  });
  if (!read) return damaged(entry, read.error());
  return revisions;
}

Result<std::optional<Limit>> definition_of(const Slot& slot, const EntryName& entry) {
  std::optional<Limit> limit;
  if (slot.revision == 0) return limit;
  const auto record = TRY(record_of(entry, slot));
  const auto read =
      visit_each<engine::LimitChange>(record.changes, [&](engine::LimitChange& change) { limit = change.limit; });
  if (!read) return damaged(entry, read.error());
  return limit;
}

Result<std::optional<HoldSummary>> summary_of(std::string_view changes, const EntryName& entry) {
  std::optional<HoldSummary> summary;
  const auto read = visit_each<engine::OperationChange>(changes, [&](engine::OperationChange& operation) {
    if (!operation.hold || operation.hold->state != HoldState::kHeld) return;
    summary.emplace();
    summary->id = operation.id;
    summary->tag = operation.hold->tag;
    summary->made_at = operation.record.made_at;
    summary->expires_at = operation.hold->expires_at;
    summary->serial = operation.hold->serial;
    for (const engine::HoldCharge& charge : operation.hold->charges) {
      add_meter(summary->entries, charge.limit, charge.key);
    }
  });
  if (!read) return damaged(entry, read.error());
  return summary;
}

Result<std::optional<HoldState>> hold_state_of(std::string_view changes) {
  std::optional<HoldState> state;
  TRY(visit_each<engine::OperationChange>(changes, [&](engine::OperationChange& operation) {
    if (operation.hold) state = operation.hold->state;
  }));
  return state;
}

void add_meter(std::vector<EntryName>& entries, std::string_view limit, std::string_view key) {
  entries.push_back({Space::kLimit, {}, std::string(limit)});
  entries.push_back({Space::kOverride, std::string(limit), std::string(key)});
  entries.push_back({Space::kMeter, std::string(limit), std::string(key)});
}

Scratch::Scratch(const Image& image, const Settings& settings)
    : image_(image),
      settings_(settings),
      engine_({.seed = kSeed, .max_memory = 0, .id_retention = settings.id_retention}) {}

Result<std::unique_ptr<Scratch>> Scratch::make(const Image& image, const Settings& settings) {
  std::unique_ptr<Scratch> scratch(new Scratch(image, settings));
  TRY(scratch->restore());
  return scratch;
}

Result<void> Scratch::restore() {
  engine::Encoder numbers;
  write_change(numbers, engine::NumbersChange{.next_generation = 1, .next_serial = settings_.next_serial});
  TRY(engine_.restore(numbers.view()));
  for (const auto& [entry, slot] : image_) {
    if (slot.revision == 0 || entry.space == Space::kMeter || entry.space == Space::kOverride) continue;
    TRY(entry.space == Space::kLimit ? restore_limit(entry, slot) : restore_slot(entry, slot));
  }
  engine_.finish_restoring(settings_.now);
  return check_holds();
}

// The engine relies on it that a hold has its parts. Somebody may have deleted them in etcd.
Result<void> Scratch::check_holds() {
  const auto is_hold = [](const auto& each) {
    return each.first.space == Space::kOperation && each.second.revision != 0;
  };
  if (std::none_of(image_.begin(), image_.end(), is_hold)) return {};
  for (const engine::AuditProblem& problem : engine_.audit(settings_.now).problems) {
    // Of a hold that is here beside other meters than its own, the audit cannot say anything.
    const bool is_whole = image_.contains(EntryName{Space::kMeter, problem.limit, problem.key});
    if (problem.kind != engine::AuditProblem::Kind::kHoldWithoutPart || !is_whole) continue;
    return base::invalid("etcd: " + problem.text +
                         ": its keys were changed by somebody else; let it expire, or "
                         "delete its key '" +
                         text_of({Space::kOperation, {}, problem.id}) + "'");
  }
  return {};
}

Result<void> Scratch::restore_slot(const EntryName& entry, const Slot& slot) {
  const auto record = TRY(record_of(entry, slot));
  const auto restored = engine_.restore(record.changes);
  if (!restored) return damaged(entry, restored.error());
  return {};
}

// One revision after the other, and behind each the meters that are under it: so the engine brings them up to date, as
// of when the limit was changed.
Result<void> Scratch::restore_limit(const EntryName& limit, const Slot& slot) {
  const auto revisions = TRY(revisions_of(slot, limit));
  for (std::size_t i = 0; i < revisions.changes.size(); ++i) {
    const auto restored = engine_.restore(revisions.changes[i]);
    if (!restored) return damaged(limit, restored.error());
    if (i == 0) {
      const auto end = image_.end();
      for (auto each = image_.lower_bound({Space::kOverride, limit.name, {}}); each != end; ++each) {
        if (each->first.space != Space::kOverride || each->first.group != limit.name) break;
        if (each->second.revision == 0) continue;
        TRY(restore_slot(each->first, each->second));
      }
    }
    TRY(restore_meters(limit.name, revisions.first + i));
  }
  return {};
}

Result<void> Scratch::restore_meters(const std::string& limit, std::uint64_t revision) {
  for (auto each = image_.lower_bound({Space::kMeter, limit, {}}); each != image_.end(); ++each) {
    const auto& [entry, slot] = *each;
    if (entry.space != Space::kMeter || entry.group != limit) break;
    if (slot.revision == 0) continue;
    const auto record = TRY(record_of(entry, slot));
    if (record.revision != revision) continue;
    TRY(restore_slot(entry, slot));
  }
  return {};
}

}  // namespace mete::store::etcd
