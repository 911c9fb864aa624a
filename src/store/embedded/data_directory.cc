#include "store/embedded/data_directory.h"

#include "base/errors.h"
#include "base/lock.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/try.h"
#include "journal/recovery.h"
#include "store/embedded/data_loader.h"

namespace mete::store {

engine::Config engine_config(const Options& options, std::uint64_t seed) {
  return {
      .seed = seed, .max_memory = options.max_memory, .id_retention = options.id_retention, .ids_max = options.ids_max};
}

DataDirectory::DataDirectory(DataConfig config, StoreClock& clock) : config_(std::move(config)), clock_(clock) {}

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(const DataConfig& config, const Options& options,
                                                           StoreClock& clock) {
  journal::FileSystem& files = *config.files;
  TRY(files.make_directory(config.directory));
  auto lock = TRY(files.lock(config.directory));
  std::unique_ptr<DataDirectory> data(new DataDirectory(config, clock));
  data->lock_ = std::move(lock);
  TRY(data->recover(options));
  TRY(data->start(options));
  return data;
}

Result<void> DataDirectory::recover(const Options& options) {
  const std::uint64_t began_ns = base::monotonic_ns();
  journal::RecoveryRequest request;
  request.directory = config_.directory;
  const auto make_engine = [&](std::uint64_t seed) {
    seed_ = seed;
    engine_ = std::make_unique<engine::Engine>(engine_config(options, seed));
  };
  request.on_seed = make_engine;
  request.on_record = [&](std::string_view body, const journal::RecordPosition& place) {
    return restore_record(*engine_, config_.directory, body, place);
  };
  if (config_.on_load) {
    request.on_progress = [&](const journal::Progress& progress) {
      config_.on_load({progress.bytes_done, progress.bytes_total});
    };
  }
  const auto found = TRY(journal::recover(*config_.files, request));
  if (engine_ == nullptr) make_engine(base::random_number());  // there was nothing
  if (const Instant now = clock_.now(); found.latest_time - now > clock_.step_max()) {
    return base::unavailable("the data in " + config_.directory + " goes on from " +
                             base::time_text(found.latest_time) + ", and this machine's clock says " +
                             base::time_text(now) +
                             ": time would stand still until then. Set the clock right; or, if it was wrong before, "
                             "bring the data back to this time with 'mete repair --clock " +
                             config_.directory + "'");
  }
  engine_->finish_restoring(found.latest_time);
  clock_.not_before(found.latest_time);
  continuation_ = found.continuation;
  recovered_.last_save_at = found.snapshot_created;
  recovered_.last_save_bytes = found.snapshot.bytes;
  recovered_.recovered_records = found.journal.records;
  recovered_.recovered_snapshot_bytes = found.snapshot.bytes;
  if (found.cut) recovered_.cut = {found.cut->file, found.cut->offset, found.cut->bytes};
  recovered_.recovery_took = Duration::from_ns(static_cast<std::int64_t>(base::monotonic_ns() - began_ns));
  return {};
}

Result<void> DataDirectory::start(const Options& options) {
  auto journal = journal::Journal::start(*config_.files, {.directory = config_.directory,
                                                          .seed = seed_,
                                                          .now = [this] { return clock_.now(); },
                                                          .continuation = continuation_});
  if (!journal) return journal.error();
  journal_ = std::move(*journal);
  engine_->record_to(*this);
  room_.emplace(options.disk_reserve_bytes);
  look_for_room();
  if (config_.has_threads) {
    flusher_ =
        std::make_unique<journal::Flusher>(*journal_, journal::FlusherHooks{.on_progress = [this] { note_progress(); },
                                                                            .on_interval =
                                                                                [this] {
                                                                                  engine_->record_rest();
                                                                                  look_for_room();
                                                                                }});
  }
  saver_ = std::make_unique<Saver>(Saver::Parts{*engine_, *journal_, *config_.files, clock_},
                                   Saver::Config{.directory = config_.directory,
                                                 .seed = seed_,
                                                 .after_bytes = options.snapshot_after_bytes,
                                                 .every = options.snapshot_every,
                                                 .has_thread = config_.has_threads,
                                                 .last_at = recovered_.last_save_at,
                                                 .last_bytes = recovered_.last_save_bytes});
  return {};
}

DataDirectory::~DataDirectory() {
  saver_.reset();
  if (flusher_ != nullptr) {
    flusher_.reset();  // with the last flush
  } else if (journal_ != nullptr) {
    engine_->record_rest();
    std::ignore = journal_->finish();
  }
}

Ticket DataDirectory::append(std::string_view record, Durable durable) {
  const Ticket ticket = journal_->append(record);
  if (durable != Durable::kAlways) return 0;
  base::raise(last_awaited_, ticket);
  return ticket;
}

void DataDirectory::request_sync() {
  if (flusher_ != nullptr) flusher_->request();
}

Result<void> DataDirectory::wait(Ticket ticket) {
  if (ticket <= synced()) return {};
  if (flusher_ != nullptr) {
    base::Strand* const strand = base::Strand::current();
    return strand != nullptr ? wait_on(*strand, ticket) : flusher_->wait(ticket);
  }
  auto flushed = journal_->flush();
  note_progress();
  return flushed;
}

Result<void> DataDirectory::wait_on(base::Strand& strand, Ticket ticket) {
  flusher_->request();
  for (std::unique_lock lock(progress_mutex_); synced() < ticket; lock.lock()) {
    if (has_failed()) return *failure();
    waits_.emplace_back(&strand, strand.begin_wait());
    lock.unlock();
    strand.rest();
  }
  return {};
}

void DataDirectory::on_progress(std::function<void()> callback) {
  const std::lock_guard guard(progress_mutex_);
  on_progress_ = std::move(callback);
}

void DataDirectory::note_progress() {
  const std::lock_guard guard(progress_mutex_);
  if (!has_failed()) {
    if (auto failure = journal_->failure()) {
      engine_->fail_recording(*failure);
      has_failed_.store(true, std::memory_order_release);
      refuses_.store(true, std::memory_order_release);
      look_for_room_locked();  // whoever is told asks whether the disk was full
      if (config_.files->has_been_full()) note_full();
    }
  }
  for (const auto& [strand, wait] : waits_) strand->end_wait_soon(wait);
  waits_.clear();
  if (on_progress_) on_progress_();
}

void DataDirectory::look_for_room() {
  const std::lock_guard progressing(progress_mutex_);  // no failure comes in between
  look_for_room_locked();
}

// Also where it does not look so: of a quota the file system does not tell, and with a reserve of 0 nobody asks it.
void DataDirectory::note_full() {
  is_full_ = true;
  const std::lock_guard guard(room_mutex_);
  level_ = journal::DiskRoom::Level::kNone;
}

// Whether there is room for as much as a start writes.
bool DataDirectory::can_write() const {
  const std::string path = config_.directory + "/room";
  std::ignore = config_.files->remove(path);  // of somebody who was killed here
  const auto file = config_.files->open(path, journal::FileSystem::Mode::kCreate);
  const bool is_written =
      file && journal::write_all(**file, 0, std::string(kStartBytes, '\0')) && (*file)->sync().has_value();
  std::ignore = config_.files->remove(path);
  return is_written;
}

void DataDirectory::look_for_room_locked() {
  if (is_full_ && !can_write()) return;
  is_full_ = false;
  const auto space = config_.files->space(config_.directory);
  using enum journal::DiskRoom::Level;
  const bool was_none = level_ == kNone;
  {
    const std::lock_guard guard(room_mutex_);
    level_ = space ? room_->update(*space) : kPlenty;
    space_ = space;
  }
  if (has_failed() || was_none == (level_ == kNone)) return;
  refuses_.store(level_ == kNone, std::memory_order_release);
  if (level_ == kNone) {
    engine_->fail_recording(*find_refusal());
  } else {
    engine_->resume_recording();
  }
}

std::optional<Error> DataDirectory::find_refusal() const {
  if (auto failed = failure()) return failed;
  const std::lock_guard guard(room_mutex_);
  if (level_ != journal::DiskRoom::Level::kNone) return std::nullopt;
  return base::unavailable(
      "the disk of " + config_.directory + " is nearly full: " + std::to_string(space_->free_bytes) +
      " bytes are free, and changes are refused until there are " + std::to_string(2 * room_->reserve_bytes()));
}

PersistenceStatus DataDirectory::status() const {
  PersistenceStatus status = recovered_;
  const journal::Journal::Counters counters = journal_->counters();
  status.journal_bytes = counters.bytes;
  status.journal_segments = counters.segments;
  status.unsynced_bytes = counters.unsynced_bytes;
  status.records_total = counters.records_total;
  status.syncs_total = counters.syncs_total;
  status.last_sync_us = counters.last_sync_us;
  status.failure = journal_->failure();
  {
    const std::lock_guard guard(room_mutex_);
    if (space_) status.free_bytes = space_->free_bytes;
    status.reserve_bytes = room_->reserve_bytes();
    status.room = level_;
  }
  saver_->describe(status);
  return status;
}

}  // namespace mete::store
