#include "store/etcd/sweeper.h"

#include <array>
#include <chrono>

#include "base/try.h"
#include "store/etcd/entry.h"
#include "store/etcd/listing.h"

namespace mete::store::etcd {

namespace {

using namespace std::chrono_literals;

constexpr auto kStepEvery = 200ms;
constexpr int kStepsPerCount = 150;
// With each meter come its limit and its override.
constexpr std::size_t kPageKeys = Transactor::kEntriesMax / 3;
constexpr std::array kSwept = {Space::kMeter, Space::kOperation, Space::kKey};

}  // namespace

Sweeper::~Sweeper() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_wanted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Sweeper::start() {
  thread_ = std::thread([this] { run(); });
}

// Errors here are those of the next call too, where somebody hears of them.
void Sweeper::run() {
  std::unique_lock lock(mutex_);
  for (int step = 0;; ++step) {
    if (stop_wanted_.wait_for(lock, kStepEvery, [this] { return is_stopping_; })) return;
    lock.unlock();
    (void)sweep_page();
    if (step % kStepsPerCount == 0) count();
    lock.lock();
  }
}

Result<bool> Sweeper::sweep_page() {
  const Space space = kSwept[space_];
  const KeyRange range = range_of(transactor_.prefix(), space);
  const auto page = TRY(list_after(transactor_, range, after_, kPageKeys, Values::kYes));
  std::vector<EntryName> entries;
  for (const KeyValue& pair : page.pairs) {
    auto entry = entry_in(transactor_.prefix(), pair.key);
    if (!entry) continue;
    if (space == Space::kMeter) {
      add_meter(entries, entry->group, entry->name);
      continue;
    }
    if (space == Space::kOperation) {
      const auto record = decode_record(pair.value, pair.key);
      const auto state = record ? hold_state_of(record->changes) : record.error();
      if (state.has_value() && *state == HoldState::kHeld) ++open_holds_;
      if (state.has_value() && *state == HoldState::kExpired) ++orphans_;
    }
    entries.push_back(std::move(*entry));
  }
  after_ = page.has_more ? page.pairs.back().key : "";
  if (!page.has_more) {
    if (space == Space::kOperation) {
      const std::lock_guard lock(mutex_);
      counts_.open_holds = std::exchange(open_holds_, 0);
      counts_.orphans = std::exchange(orphans_, 0);
    }
    space_ = (space_ + 1) % kSwept.size();
  }
  if (!entries.empty()) {
    TRY(transactor_.sweep(entries));
  }
  return page.has_more;
}

void Sweeper::count() {
  constexpr std::array kCounted = {Space::kMeter, Space::kOverride, Space::kOperation, Space::kKey};
  std::array<KeyRange, kCounted.size()> ranges;
  Txn txn;
  for (std::size_t i = 0; i < kCounted.size(); ++i) {
    ranges[i] = range_of(transactor_.prefix(), kCounted[i]);
    txn.reads.push_back({.key = ranges[i].begin, .end = ranges[i].end, .count_only = true});
  }
  const auto answer = transactor_.run(txn);
  if (!answer) return;
  const std::lock_guard lock(mutex_);
  counts_.meters = answer->reads[0].count;
  counts_.overrides = answer->reads[1].count;
  counts_.ids = answer->reads[2].count;
  counts_.keys = answer->reads[3].count;
}

core::Statistics Sweeper::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace mete::store::etcd
