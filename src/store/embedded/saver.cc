#include "store/embedded/saver.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/errors.h"
#include "base/try.h"
#include "engine/records/snapshot_walk.h"
#include "journal/snapshot_writer.h"

namespace mete::store {

namespace {

constexpr auto kLookEvery = std::chrono::seconds(1);
// After a failure: the disk may be full, and trying again at once would only fill it again.
constexpr Duration kRetryAfter = std::chrono::minutes(1);
// In the background it works for a while and then leaves the processor and the disk to others for several times that.
constexpr auto kWorkTime = std::chrono::microseconds(500);
constexpr int kRestFactor = 8;

using Steady = std::chrono::steady_clock;

// Whoever decides comes first; this can wait.
void lower_priority() {
  constexpr int kNice = 10;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // refused: it just goes faster
}

}  // namespace

Saver::Saver(Parts parts, Config config) : parts_(parts), config_(std::move(config)) {
  status_.last_save_at = config_.last_at;
  status_.last_save_bytes = config_.last_bytes;
  tried_at_ = parts_.clock.now();
  if (config_.has_thread) thread_ = std::thread([this] { run(); });
}

Saver::~Saver() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Saver::run() {
  lower_priority();
  std::unique_lock guard(mutex_);
  while (!is_stopping_) {
    wake_.wait_for(guard, kLookEvery, [this] { return is_stopping_ || is_wanted_; });
    if (is_stopping_ || !(is_wanted_ || is_due())) continue;
    guard.unlock();
    std::ignore = save_and_note(Pace::kGentle);
    guard.lock();
    is_wanted_ = false;
  }
}

bool Saver::is_due() const {
  const Instant now = parts_.clock.now();
  if (status_.last_save_failure && now < tried_at_ + kRetryAfter) return false;
  const journal::Journal::Counters counters = parts_.journal.counters();
  if (counters.records_total == records_at_last_ || parts_.journal.failure()) return false;
  const bool is_long =
      config_.after_bytes != 0 && counters.bytes > config_.after_bytes && counters.bytes > status_.last_save_bytes;
  const bool is_old = config_.every > Duration() && now >= tried_at_ + config_.every;
  return is_long || is_old;
}

Result<void> Saver::save() { return save_and_note(Pace::kFull); }

Result<bool> Saver::start_saving() {
  {
    const std::lock_guard guard(mutex_);
    if (is_wanted_ || status_.is_saving) return false;
    is_wanted_ = true;
  }
  wake_.notify_all();
  return true;
}

Result<void> Saver::save_and_note(Pace pace) {
  const std::lock_guard saving(saving_mutex_);
  const Instant began_at = parts_.clock.now();
  {
    const std::lock_guard guard(mutex_);
    status_.is_saving = true;
    status_.saving_since = began_at;
    status_.saving_done = 0;
    tried_at_ = began_at;
  }
  const std::uint64_t records = parts_.journal.counters().records_total;
  const auto written = write_snapshot(pace);
  const std::lock_guard guard(mutex_);
  status_.is_saving = false;
  if (!written) {
    if (!is_stopping_) status_.last_save_failure = written.error();
    return written.error();
  }
  records_at_last_ = records;
  status_.last_save_failure.reset();
  status_.last_save_at = began_at;
  status_.last_save_took = parts_.clock.now() - began_at;
  status_.last_save_bytes = *written;
  ++status_.saves_total;
  return {};
}

Result<std::uint64_t> Saver::write_snapshot(Pace pace) {
  engine::Engine::SnapshotWalk walk(parts_.engine);
  const auto number = TRY(parts_.journal.rotate());
  auto writer = TRY(journal::SnapshotWriter::create(
      parts_.files,
      {.directory = config_.directory, .number = number, .seed = config_.seed, .created = parts_.clock.now()}));
  engine::Encoder record;
  auto work_began = Steady::now();
  while (walk.next(record)) {
    TRY(writer->append(record.view()));
    note_progress(walk.progress().done, walk.progress().total);
    const auto worked = Steady::now() - work_began;
    if (pace == Pace::kFull || walk.is_waited_for() || worked < kWorkTime) continue;
    if (!rest(worked * kRestFactor)) {
      return base::unavailable("the snapshot was given up: the store is closed");
    }
    work_began = Steady::now();
  }
  // What the walk has seen of operations since it began must be on disk before the snapshot counts.
  TRY(parts_.journal.flush());
  TRY(writer->finish());
  // That failing leaves needless files, which the next snapshot removes.
  std::ignore = parts_.journal.remove_before(number);
  return writer->bytes();
}

// False if there is no time left: the store is being closed.
bool Saver::rest(std::chrono::nanoseconds length) {
  std::unique_lock guard(mutex_);
  return !wake_.wait_for(guard, length, [this] { return is_stopping_; });
}

void Saver::note_progress(std::uint64_t done, std::uint64_t total) {
  const std::lock_guard guard(mutex_);
  status_.saving_done = done;
  status_.saving_total = total;
}

void Saver::describe(PersistenceStatus& status) const {
  const std::lock_guard guard(mutex_);
  status.is_saving = status_.is_saving;
  status.saving_done = status_.saving_done;
  status.saving_total = status_.saving_total;
  status.saving_since = status_.saving_since;
  status.saves_total = status_.saves_total;
  status.last_save_at = status_.last_save_at;
  status.last_save_took = status_.last_save_took;
  status.last_save_bytes = status_.last_save_bytes;
  status.last_save_failure = status_.last_save_failure;
}

}  // namespace mete::store
