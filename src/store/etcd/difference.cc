// What became of an image: the engine is walked over, and what it keeps now is compared with what it was made of.

#include "base/errors.h"
#include "base/try.h"
#include "engine/records/snapshot_walk.h"
#include "store/etcd/entry.h"
#include "store/etcd/image.h"

namespace mete::store::etcd {

namespace {

struct LimitState {
  std::string name;
  std::uint64_t generation = 0;
  bool is_even = true;
  std::string change;
};

// Everything that an engine keeps, by entry, as changes.
class Gatherer final : public QuietVisitor {
 public:
  using QuietVisitor::visit;
  Result<void> visit(engine::NumbersChange& change) override {
    next_serial = change.next_serial;
    engine::Encoder encoder;
    write_change(encoder, engine::NumbersChange{.next_generation = change.next_generation, .next_serial = 1});
    changes[{Space::kNumbers}] = encoder.view();
    return {};
  }
  Result<void> visit(engine::LimitChange& change) override {
    engine::Encoder encoder;
    write_change(encoder, change);
    const std::string& name = change.limit.name();
    limits[name] = {name, change.generation, change.is_even, std::string(encoder.view())};
    names_[change.generation] = name;
    return {};
  }
  Result<void> visit(engine::MeterChange& change) override {
    return add({Space::kMeter, names_[change.generation], std::string(change.key)}, change);
  }
  Result<void> visit(engine::OverrideChange& change) override {
    return add({Space::kOverride, names_[change.generation], std::string(change.key)}, change);
  }
  Result<void> visit(engine::KeyChange& change) override {
    return add({Space::kKey, {}, std::string(change.key)}, change);
  }
  Result<void> visit(engine::OperationChange& change) override {
    engine::Encoder encoder;
    if (change.hold) change.record.hold = &*change.hold;
    write_operation(encoder, change.id, change.record);
    changes[{Space::kOperation, {}, std::string(change.id)}] = encoder.view();
    return {};
  }

  std::map<EntryName, std::string> changes;
  std::map<std::string, LimitState> limits;
  std::uint64_t next_serial = 0;

 private:
  // A meter with many parts comes in pieces.
  template <class Change>
  Result<void> add(const EntryName& entry, const Change& change) {
    engine::Encoder encoder;
    write_change(encoder, change);
    changes[entry] += encoder.view();
    return {};
  }

  std::map<std::uint64_t, std::string> names_;
};

// A limit's revisions with what it is now: the last one is replaced, unless the rule is another.
Result<Revisions> with_present(const Revisions& known, const LimitState& present) {
  Revisions revisions = known;
  std::optional<engine::LimitChange> last;
  if (!known.changes.empty()) {
    TRY(visit_each<engine::LimitChange>(known.changes.back(), [&](engine::LimitChange& limit) { last = limit; }));
  }
  if (!last || last->generation != present.generation) return Revisions{.first = 1, .changes = {present.change}};
  if (last->is_even != present.is_even) {
    revisions.changes.push_back(present.change);
    return revisions;
  }
  // Meters of the revision before are brought up to date as of when the rule was changed, and not the rest.
  engine::Encoder encoder;
  TRY(visit_each<engine::LimitChange>(present.change, [&](engine::LimitChange& limit) {
    limit.changed_at = last->changed_at;
    write_change(encoder, limit);
  }));
  revisions.changes.back() = encoder.view();
  return revisions;
}

std::string joined(const std::vector<std::string>& changes) {
  std::string all;
  for (const std::string& change : changes) all += change;
  return all;
}

// Compares what was gathered with the image.
class Comparison {
 public:
  Comparison(const Image& image, Instant now, const Gatherer& gathered)
      : image_(image), now_(now), gathered_(gathered) {
    difference_.next_serial = gathered.next_serial;
  }

  Result<Difference> make() {
    auto made = compare_limits();
    if (made) made = compare_entries();
    if (made) made = find_gone();
    if (!made) return made.error();
    return std::move(difference_);
  }

 private:
  Result<void> compare_limits() {
    for (const auto& [name, present] : gathered_.limits) {
      const EntryName entry{Space::kLimit, {}, name};
      const auto known = TRY(revisions_of(image_.at(entry), entry));
      const auto revisions = TRY(with_present(known, present));
      present_revisions_[name] = revisions.first + revisions.changes.size() - 1;
      TRY(put_if_new(entry, revisions.first, joined(revisions.changes)));
    }
    return {};
  }

  Result<void> compare_entries() {
    for (const auto& [entry, changes] : gathered_.changes) {
      const bool is_asked_for = image_.contains(entry);
      if (entry.space == Space::kNumbers && !is_asked_for) continue;  // it concerns only who defines a limit
      // A value that somebody else has put where it does not belong names another entry than its key.
      if (!is_asked_for) {
        return base::invalid("etcd: a key that was read has the value of the key '" + key_of("", entry) +
                             "': its keys were changed by somebody else");
      }
      const std::uint64_t revision = entry.space == Space::kMeter ? present_revisions_[entry.group] : 0;
      TRY(put_if_new(entry, revision, changes));
      if (entry.space != Space::kOperation || !difference_.puts.contains(entry)) continue;
      const auto hold = TRY(summary_of(changes, entry));
      if (hold && !hold->tag.empty()) {
        difference_.puts[{Space::kTag, hold->tag, entry.name}] = difference_.puts[entry];
      }
    }
    return {};
  }

  Result<void> find_gone() {
    for (const auto& [entry, slot] : image_) {
      if (slot.revision == 0 || entry.space == Space::kLimit || entry.space == Space::kClock) continue;
      if (!gathered_.changes.contains(entry)) difference_.deletes.push_back(entry);
      if (entry.space != Space::kOperation) continue;
      const auto record = TRY(decode_record(slot.value, entry.name));
      const auto before = TRY(summary_of(record.changes, entry));
      if (!before || before->tag.empty()) continue;
      const EntryName tag{Space::kTag, before->tag, entry.name};
      const auto present = gathered_.changes.find(entry);
      const bool is_changed = present == gathered_.changes.end() || difference_.puts.contains(entry);
      if (is_changed && !difference_.puts.contains(tag)) difference_.deletes.push_back(tag);
    }
    return {};
  }

  Result<void> put_if_new(const EntryName& entry, std::uint64_t revision, const std::string& changes) {
    const auto old = image_.find(entry);
    if (old != image_.end() && old->second.revision != 0) {
      const auto record = TRY(decode_record(old->second.value, entry.name));
      if (record.revision == revision && record.changes == changes) return {};
    }
    difference_.puts[entry] = encode(Record{now_, revision, changes});
    return {};
  }

  const Image& image_;
  const Instant now_;
  const Gatherer& gathered_;
  std::map<std::string, std::uint64_t> present_revisions_;
  Difference difference_;
};

}  // namespace

Result<Difference> Scratch::difference() {
  Gatherer gatherer;
  engine::Engine::SnapshotWalk walk(engine_);
  for (engine::Encoder record; walk.next(record);) {
    TRY(engine::read_changes(record.view(), gatherer));
  }
  return Comparison(image_, settings_.now, gatherer).make();
}

}  // namespace mete::store::etcd
