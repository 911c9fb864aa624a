#include "store/etcd/transactor.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/try.h"
#include "net/fiber.h"
#include "store/etcd/entry.h"

namespace mete::store::etcd {

namespace {

const EntryName kClockEntry{Space::kClock};

void pause_after_race(int races) {
  constexpr std::uint64_t kPauseUsMin = 500;
  constexpr int kDoublingsMax = 5;
  const std::uint64_t longest = kPauseUsMin << std::min(races, kDoublingsMax);
  net::pause_for(std::chrono::microseconds(base::random_number() % longest));
}

bool is_too_large(const Difference& difference) {
  std::size_t bytes = 0;
  for (const auto& [entry, value] : difference.puts) bytes += value.size() + entry.group.size() + entry.name.size();
  return bytes > kTxnBytesMax || difference.puts.size() + difference.deletes.size() > kTxnOperationsMax;
}

// Whether there is no such key of those that a sweep may have deleted: then it must have happened at the time that is
// known here. A key that is there tells itself that it has not changed.
bool misses_a_key(const Image& image) {
  return std::ranges::any_of(image, [](const auto& each) {
    const Space space = each.first.space;
    const bool is_swept = space == Space::kMeter || space == Space::kOperation || space == Space::kKey;
    return is_swept && each.second.revision == 0;
  });
}

// etcd tells what was found for each read, in their order.
Outcome<void> check_reads(const TxnAnswer& answer, std::size_t count) {
  if (answer.reads.size() == count) return {};
  return Failure{base::unavailable("etcd: " + std::to_string(answer.reads.size()) + " results for " +
                                   std::to_string(count) + " keys: something else answers on its port")};
}

// The keys of a transaction, which its parts are views of.
struct Keys {
  std::vector<std::string> all = {};

  std::string_view add(std::string key) { return all.emplace_back(std::move(key)); }
};

// Of the first meter, or of whatever it touches first.
std::uint64_t lane_of(std::span<const EntryName> entries) {
  const auto meter = std::ranges::find(entries, Space::kMeter, &EntryName::space);
  const EntryName& entry = meter == entries.end() ? entries.front() : *meter;
  return std::max<std::uint64_t>(base::hash_bytes(entry.name, base::hash_bytes(entry.group, 0)), 1);
}

}  // namespace

// Some calls on their way through the steps of transactor.h.
struct Transactor::Trip {
  net::Deadline deadline;
  std::vector<Call*> calls;
  std::vector<EntryName> entries = {};  // of all of them, and the clock
  Image image = {};
  enum class Source : std::uint8_t { kNone, kMemory, kEtcd } source = Source::kNone;
  int races = 0;

  void fail(const Error& error) {
    for (Call* call : calls) call->failure = error;
  }
};

Outcome<Image> Transactor::read_image(const std::vector<EntryName>& entries, const net::Deadline& deadline) {
  CHECK(entries.size() <= kTxnOperationsMax);
  Keys keys;
  keys.all.reserve(entries.size());
  Txn txn;
  for (const EntryName& entry : entries) txn.reads.push_back({.key = keys.add(key_of(entry))});
  auto answer = TRY(client_.run(txn, deadline));
  TRY(check_reads(answer, entries.size()));
  Image image;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Slot& slot = image[entries[i]];
    if (answer.reads[i].found.empty()) continue;
    KeyValue& found = answer.reads[i].found.front();
    slot = {std::move(found.value), found.revision};
  }
  return image;
}

Result<Image> Transactor::fetch(const std::vector<EntryName>& entries) {
  std::set<EntryName> wanted(entries.begin(), entries.end());
  wanted.insert(kClockEntry);
  auto image = read_image({wanted.begin(), wanted.end()}, deadline());
  if (!image) return image.error().error;
  return std::move(*image);
}

Result<TxnAnswer> Transactor::run(const Txn& txn) {
  auto answer = client_.run(txn, deadline());
  if (!answer) return answer.error().error;
  return std::move(*answer);
}

// One machine whose clock was a year ahead for a second would else make time stand still for a year for all.
Result<void> Transactor::go_on_from(const LatestWritten& latest) {
  const Instant now = clock_.now();
  const Duration ahead = latest.at > now ? latest.at - now : Duration();
  if (ahead > clock_.step_max()) {
    refused_by_ns_.store(ahead.ns(), std::memory_order_relaxed);
    // One that is met again and again is counted once.
    if (refused_at_.exchange(latest.at.ns()) != latest.at.ns()) refused_times_.fetch_add(1, std::memory_order_relaxed);
    return base::unavailable(
        "etcd's key '" + key_of(latest.entry) + "' was written at " + base::time_text(latest.at) +
        ", which is further ahead of this machine's clock than clock_step_max allows: set the clocks "
        "right, or delete the key (docs/etcd.md, \"The clock\")");
  }
  refused_by_ns_.store(0, std::memory_order_relaxed);
  clock_.not_before(latest.at);
  return {};
}

ClockStatus Transactor::clock_status() const {
  ClockStatus status = clock_.status();
  status.refused_steps += refused_times_.load(std::memory_order_relaxed);
  // The machine's clock is behind what etcd has.
  const Duration by = Duration::from_ns(-refused_by_ns_.load(std::memory_order_relaxed));
  if (status.refused_by == Duration()) status.refused_by = by;
  return status;
}

Result<std::unique_ptr<Scratch>> Transactor::scratch_of(const Image& image, bool makes_holds) {
  TRY(go_on_from(TRY(latest_of(image))));
  const Instant now = clock_.now();
  if (makes_holds) {
    // Later holds have greater numbers, as far as that can be known; and on one meter no two have the same.
    const auto free = TRY(next_serial_of(image));
    base::raise(next_serial_, std::max(free, now.ns()));
  }
  return Scratch::make(image, {.now = now, .id_retention = settings_.id_retention, .next_serial = next_serial_.load()});
}

Result<void> Transactor::read(Call& call) {
  const auto image = TRY(fetch(call.entries));
  const auto scratch = TRY(scratch_of(image));
  call.decide(scratch->engine(), scratch->now());
  return {};
}

Result<void> Transactor::change(Call& call) {
  CHECK(!call.entries.empty() && call.entries.size() <= kEntriesMax);
  call.lane = lane_of(call.entries);
  together_.join(call, [this](std::span<Call* const> calls) { return run_together(calls); });
  if (call.failure) return *call.failure;
  return {};
}

// In groups that fit into one transaction each.
bool Transactor::run_together(std::span<Call* const> calls) {
  std::vector<Call*> group;
  std::set<EntryName> entries;
  for (Call* call : calls) {
    std::set<EntryName> with = entries;
    with.insert(call->entries.begin(), call->entries.end());
    if (with.size() > kEntriesMax) {
      run_group(std::exchange(group, {}));
      with = {call->entries.begin(), call->entries.end()};
    }
    entries = std::move(with);
    group.push_back(call);
  }
  run_group(std::move(group));
  together_.set_distance(client_.distance());
  return true;
}

void Transactor::run_group(std::vector<Call*> calls) {
  Trip trip{.deadline = deadline(), .calls = std::move(calls)};
  std::set<EntryName> entries = {kClockEntry};
  for (const Call* call : trip.calls) entries.insert(call->entries.begin(), call->entries.end());
  trip.entries.assign(entries.begin(), entries.end());
  if (memory_.recall(trip.entries, trip.image)) trip.source = Trip::Source::kMemory;
  while (trip.races < kAttemptsMax && !trip.deadline.is_over()) {
    if (attempt(trip)) return;
  }
  trip.fail(base::unavailable("etcd: others changed the same keys " + std::to_string(trip.races) +
                              " times in the meantime, and nothing was done; try again"));
}

bool Transactor::attempt(Trip& trip) {
  if (trip.source == Trip::Source::kNone) {
    auto image = read_image(trip.entries, trip.deadline);
    if (!image) {
      trip.fail(image.error().error);
      return true;
    }
    trip.image = std::move(*image);
    trip.source = Trip::Source::kEtcd;
  }
  const bool makes_holds = std::ranges::any_of(trip.calls, &Call::makes_holds);
  auto scratch = scratch_of(trip.image, makes_holds);
  if (!scratch) {
    trip.fail(scratch.error());
    return true;
  }
  bool changes = false;
  for (const Call* call : trip.calls) changes |= call->decide((*scratch)->engine(), (*scratch)->now());
  Result<Difference> difference = Difference();
  if (changes) difference = (*scratch)->difference();
  if (!difference) {
    trip.fail(difference.error());
    return true;
  }
  if (!difference->is_empty()) return write(trip, *difference);
  // That nothing changes can be told only of what was just read.
  if (trip.source == Trip::Source::kEtcd) {
    memory_.keep(trip.image);
    return true;
  }
  trip.source = Trip::Source::kNone;
  return false;
}

bool Transactor::write(Trip& trip, const Difference& difference) {
  if (is_too_large(difference)) {
    if (trip.calls.size() > 1) {
      for (Call* call : trip.calls) run_group({call});
    } else {
      trip.fail(base::out_of_memory(
          "etcd: what this would write is larger than the 1.5 MiB that etcd takes at once; use shorter ids, or "
          "fewer open holds on one key"));
    }
    return true;
  }
  base::raise(next_serial_, difference.next_serial);
  Keys keys;
  keys.all.reserve(trip.entries.size() + difference.puts.size() + difference.deletes.size());
  Txn txn;
  const bool compares_clock = misses_a_key(trip.image);
  for (const auto& [entry, slot] : trip.image) {
    const std::string_view key = keys.add(key_of(entry));
    if (entry.space != Space::kClock || compares_clock) txn.compares.push_back({key, slot.revision});
    txn.reads.push_back({.key = key});
  }
  for (const auto& [entry, value] : difference.puts) txn.puts.push_back({keys.add(key_of(entry)), value});
  for (const EntryName& entry : difference.deletes) txn.deletes.push_back({.key = keys.add(key_of(entry))});
  auto answer = client_.run(txn, trip.deadline);
  if (!answer) return give_up(trip, answer.error());
  if (answer->has_changed) {
    for (const auto& [entry, value] : difference.puts) trip.image[entry] = {value, answer->revision};
    for (const EntryName& entry : difference.deletes) trip.image[entry] = {};
    memory_.keep(trip.image);
    return true;
  }
  if (const auto checked = check_reads(*answer, trip.image.size()); !checked) return give_up(trip, checked.error());
  auto read = answer->reads.begin();
  for (auto& [entry, slot] : trip.image) {
    Slot now = read->found.empty() ? Slot() : Slot{std::move(read->found[0].value), read->found[0].revision};
    if (trip.source == Trip::Source::kMemory && now.revision != slot.revision) memory_.was_wrong(entry);
    slot = std::move(now);
    ++read;
  }
  trip.source = Trip::Source::kEtcd;
  if (++trip.races > 1) pause_after_race(trip.races);
  return false;
}

// What may be done twice is tried again; of the rest it is told that nobody knows. True: nothing is left to try.
bool Transactor::give_up(Trip& trip, const Failure& failure) {
  memory_.forget(trip.entries);
  trip.source = Trip::Source::kNone;
  if (!failure.may_have_happened || trip.deadline.is_over()) {
    trip.fail(failure.error);
    return true;
  }
  Error error = failure.error;
  error.message += "; it may have happened";
  std::vector<Call*> again;
  for (Call* call : trip.calls) {
    if (call->is_repeatable) {
      again.push_back(call);
    } else {
      call->failure = error;
    }
  }
  trip.calls = std::move(again);
  return trip.calls.empty();
}

Result<void> Transactor::raise_clock() {
  const auto image = TRY(fetch({}));
  TRY(go_on_from(TRY(latest_of(image))));
  const std::string key = key_of(kClockEntry);
  const std::string value = encode(Record{.written_at = clock_.now()});
  // Whoever was faster has put a time about as late; but only what is known to be there counts.
  const auto answer = TRY(run({.compares = {{key, image.at(kClockEntry).revision}}, .puts = {{key, value}}}));
  if (!answer.has_changed) return base::unavailable("another one has raised the clock");
  return {};
}

Result<std::size_t> Transactor::sweep(const std::vector<EntryName>& entries) {
  const auto image = TRY(fetch(entries));
  auto scratch = TRY(scratch_of(image));
  // Twice: a meter goes when the parts that have expired have gone.
  scratch->engine().sweep(2 * scratch->engine().buckets(), scratch->now());
  const auto difference = TRY(scratch->difference());
  if (difference.is_empty() || is_too_large(difference)) return std::size_t{0};
  if (!difference.deletes.empty()) {
    TRY(raise_clock());
  }
  Keys keys;
  keys.all.reserve(image.size() + difference.puts.size() + difference.deletes.size());
  Txn txn;
  const std::set<EntryName> gone(difference.deletes.begin(), difference.deletes.end());
  for (const auto& [entry, slot] : image) {
    const bool is_rule = entry.space == Space::kLimit || entry.space == Space::kOverride;
    if (!is_rule && !gone.contains(entry) && !difference.puts.contains(entry)) continue;
    txn.compares.push_back({keys.add(key_of(entry)), slot.revision});
  }
  for (const auto& [entry, value] : difference.puts) txn.puts.push_back({keys.add(key_of(entry)), value});
  for (const EntryName& entry : difference.deletes) txn.deletes.push_back({.key = keys.add(key_of(entry))});
  const auto answer = TRY(run(txn));
  if (!answer.has_changed) return std::size_t{0};
  expired_holds_.fetch_add(scratch->engine().statistics().expired_holds.value_or(0), std::memory_order_relaxed);
  return difference.puts.size() + difference.deletes.size();
}

}  // namespace mete::store::etcd
