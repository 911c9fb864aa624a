#include "unit/journal/random_run.h"

#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "journal/snapshot_writer.h"

namespace mete::journal {

namespace {

Error wrong(const std::string& what) { return Error{ErrorCode::kInvalid, what}; }

constexpr Instant kRunTime = Instant::from_unix_seconds(1'000'000'000);

std::string snapshot_body(std::uint64_t records) { return "records:" + std::to_string(records); }

}  // namespace

std::string body_of(std::uint64_t n) {
  const std::string number = std::to_string(n) + ":";
  const std::size_t size = n % 53 == 17 ? 70'000 : n % 7 == 3 ? 1'500 : n * 31 % 90;
  return number + std::string(size, static_cast<char>('a' + n % 26));
}

Result<Found> find_records(FileSystem& files, RecoveryMode mode) {
  Found found;
  const auto on_record = [&found](std::string_view body, const RecordPosition& place) -> Result<void> {
    if (place.file.starts_with("snapshot")) {
      const std::string_view digits = body.substr(body.find(':') + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), found.records);
      return body == snapshot_body(found.records) ? Result<void>() : wrong("a snapshot says " + std::string(body));
    }
    if (body != body_of(found.records)) {
      return wrong(std::string(place.file) + " at " + std::to_string(place.offset) + " is not record " +
                   std::to_string(found.records));
    }
    ++found.records;
    return {};
  };
  found.recovered = TRY(recover(files, {.directory = kRunDirectory, .mode = mode, .on_record = on_record}));
  return found;
}

Result<std::unique_ptr<Journal>> start_journal(FileSystem& files, const Found& found, Duration batch_time) {
  return Journal::start(files, {.directory = kRunDirectory,
                                .seed = kRunSeed,
                                .now = [time = kRunTime, batch_time]() mutable { return time = time + batch_time; },
                                .continuation = found.recovered.continuation});
}

Result<void> save_records(FileSystem& files, std::uint64_t segment, std::uint64_t records) {
  const auto writer = TRY(SnapshotWriter::create(
      files, {.directory = kRunDirectory, .number = segment, .seed = kRunSeed, .created = kRunTime}));
  if (auto appended = writer->append(snapshot_body(records)); !appended) return appended;
  return writer->finish();
}

std::uint64_t RandomRun::acknowledged() const {
  if (!journal_) return recovered_;
  const auto end = std::upper_bound(tickets_.begin(), tickets_.end(), journal_->synced());
  return recovered_ + static_cast<std::uint64_t>(end - tickets_.begin());
}

Result<void> RandomRun::live(int steps) {
  if (auto started = start(); !started) return started;
  for (int i = 0; i < steps; ++i) {
    if (auto done = step(); !done) return done;
  }
  // Killed: what was not written is gone, and what was written is what the next life finds.
  recovered_ = acknowledged();
  journal_.reset();
  return {};
}

Result<void> RandomRun::start() {
  const auto found = TRY(find_records(files_, RecoveryMode::kStart));
  if (found.records < recovered_ || found.records > appended_) {
    return wrong("found " + std::to_string(found.records) + " records after a kill, of " + std::to_string(appended_));
  }
  // Acknowledged from here on: recovery has synced it, and somebody may have seen it.
  recovered_ = appended_ = found.records;
  tickets_.clear();
  journal_ = TRY(start_journal(files_, found, std::chrono::milliseconds(400)));
  return {};
}

void RandomRun::append() {
  const std::string body = body_of(appended_++);
  tickets_.push_back(journal_->append(body));
}

Result<void> RandomRun::step() {
  const std::uint64_t choice = random_() % 20;
  if (choice < 9) {
    for (std::uint64_t i = random_() % 4 + 1; i > 0; --i) append();
    return {};
  }
  if (choice < 15) return journal_->flush();
  if (choice < 17) return journal_->write_out();
  if (choice < 18) {
    const auto rotated = journal_->rotate();
    return rotated ? Result<void>() : rotated.error();
  }
  return save();
}

Result<void> RandomRun::save() {
  const std::uint64_t records = appended_;
  const auto number = TRY(journal_->rotate());
  append();  // while it is being written
  if (auto saved = save_records(files_, number, records); !saved) return saved;
  return journal_->remove_before(number);
}

}  // namespace mete::journal
