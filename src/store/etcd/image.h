// Image: some keys of etcd as they were at one moment; and Scratch, which makes an engine of them, has it decide, and
// tells what the keys became.
//
//     Image ── restore ──→ engine ── any operations, at `now` ──→ engine ── walk ──→ what to put and to delete
//
// So the rules are written once, in the engine: here is only what lies where. An operation may touch nothing that the
// image has no entry for; that there is no such key is something an image knows too. Pure. Thread safety: none.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/records/change.h"
#include "store/etcd/entry.h"
#include "store/etcd/messages.h"

namespace mete::store::etcd {

struct Slot {
  std::string value = {};
  Revision revision = 0;  // 0: there is no such key
};
using Image = std::map<EntryName, Slot>;

// The latest time that any of its keys was written at.
struct LatestWritten {
  Instant at = {};
  EntryName entry = {};
};
Result<LatestWritten> latest_of(const Image& image);
// A number for the next hold that none on the image's meters has, nor a greater one.
Result<std::uint64_t> next_serial_of(const Image& image);

struct Difference {
  std::map<EntryName, std::string> puts = {};
  std::vector<EntryName> deletes = {};
  std::uint64_t next_serial = 0;

  [[nodiscard]] bool is_empty() const { return puts.empty() && deletes.empty(); }
};

class Scratch {
 public:
  struct Settings {
    Instant now;
    Duration id_retention;
    std::uint64_t next_serial = 1;
  };
  // The image outlives it.
  static Result<std::unique_ptr<Scratch>> make(const Image& image, const Settings& settings);

  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] Instant now() const { return settings_.now; }

  // What the operations since have made of the image.
  Result<Difference> difference();

 private:
  Scratch(const Image& image, const Settings& settings);
  Result<void> restore();
  Result<void> check_holds();
  Result<void> restore_limit(const EntryName& limit, const Slot& slot);
  Result<void> restore_slot(const EntryName& entry, const Slot& slot);
  // Those of a limit that are under its revision.
  Result<void> restore_meters(const std::string& limit, std::uint64_t revision);

  const Image& image_;
  const Settings settings_;
  engine::Engine engine_;
};

// The open hold that a value of the space kOperation is, as far as listings want to know.
struct HoldSummary {
  std::string id;
  std::string tag;
  Instant made_at;
  Instant expires_at;
  std::uint64_t serial = 0;
  std::vector<EntryName> entries;  // what an operation on it touches, but for the hold itself
};
// None if it is no hold, or not open (whether or not its time is over).
Result<std::optional<HoldSummary>> summary_of(std::string_view changes, const EntryName& entry);
// The same for a hold in any state; none if it is no hold.
Result<std::optional<HoldState>> hold_state_of(std::string_view changes);

// A limit's revisions, as its key has them: each a change.
struct Revisions {
  std::uint64_t first = 1;
  std::vector<std::string> changes = {};
};
Result<Revisions> revisions_of(const Slot& slot, const EntryName& entry);
// The definition; none if there is no such limit.
Result<std::optional<Limit>> definition_of(const Slot& slot, const EntryName& entry);

// What a charge on a meter touches.
void add_meter(std::vector<EntryName>& entries, std::string_view limit, std::string_view key);

// Visitors of changes that want only some of them, for reading images.
class QuietVisitor : public engine::ChangeVisitor {
 public:
  Result<void> visit(engine::MeterChange& /*change*/) override { return {}; }
  Result<void> visit(engine::OperationChange& /*change*/) override { return {}; }
  Result<void> visit(engine::OverrideChange& /*change*/) override { return {}; }
  Result<void> visit(engine::KeyChange& /*change*/) override { return {}; }
  Result<void> visit(engine::LimitChange& /*change*/) override { return {}; }
  Result<void> visit(engine::DropChange& /*change*/) override { return {}; }
  Result<void> visit(engine::ClearChange& /*change*/) override { return {}; }
  Result<void> visit(engine::NumbersChange& /*change*/) override { return {}; }
};

// Calls use() with each change of one kind.
template <class Change>
class OneKindVisitor final : public QuietVisitor {
 public:
  explicit OneKindVisitor(std::function<void(Change&)> use) : use_(std::move(use)) {}
  using QuietVisitor::visit;
  Result<void> visit(Change& change) override {
    use_(change);
    return {};
  }

 private:
  std::function<void(Change&)> use_;
};

template <class Change>
Result<void> visit_each(std::string_view changes, std::function<void(Change&)> use) {
  OneKindVisitor<Change> visitor(std::move(use));
  return engine::read_changes(changes, visitor);
}

}  // namespace mete::store::etcd
