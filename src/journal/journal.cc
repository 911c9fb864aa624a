#include "journal/journal.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "journal/directory.h"

namespace mete::journal {

namespace {

constexpr std::size_t kMarkRecordBytes = kRecordHeaderBytes + kMarkBodyBytes;
// A mark in every batch would be a third of a small one. So close they still tell what was synced, and the time.
constexpr std::uint64_t kMarkEveryBytes = 256;
constexpr Duration kMarkEvery = std::chrono::seconds(1);
// A buffer that a burst has made larger than this is given back.
constexpr std::size_t kKeptBytesMax = std::size_t{8} << 20;

void start_with_room_for_mark(base::Output& buffer) {
  if (buffer.capacity() > kKeptBytesMax) buffer = base::Output();
  buffer.clear();
  char* const at = buffer.reserve(kMarkRecordBytes);
  std::memset(at, 0, kMarkRecordBytes);
  buffer.advance_to(at + kMarkRecordBytes);
}

}  // namespace

Journal::Journal(FileSystem& files, Config config, Watermark watermark)
    : files_(files),
      config_(std::move(config)),
      framing_(config_.seed),
      watermark_(std::move(watermark)),
      oldest_segment_(config_.continuation.oldest_segment),
      bytes_(config_.continuation.bytes) {
  start_with_room_for_mark(filling_);
}

Result<std::unique_ptr<Journal>> Journal::start(FileSystem& files, Config config) {
  const Continuation behind = config.continuation;
  auto watermark = TRY(Watermark::open(files, config.directory, {behind.next_segment, 0}));
  std::unique_ptr<Journal> journal(new Journal(files, std::move(config), std::move(watermark)));
  TRY(journal->begin_segment(behind.next_segment, behind.previous_length));
  return journal;
}

Ticket Journal::append(std::string_view body) {
  const Record record{RecordType::kChanges, body};
  std::array<char, kRecordHeaderBytes> header;  // NOLINT(cppcoreguidelines-pro-type-member-init): written next
  framing_.write_header(header.data(), record);
  Ticket ticket = 0;
  bool has_backlog = false;
  {
    const std::lock_guard lock(lock_);
    ticket = appended_.load(std::memory_order_relaxed) + record.bytes();
    appended_.store(ticket, std::memory_order_release);
    records_total_.store(records_total_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (is_dropping_) {
      taken_.store(ticket, std::memory_order_release);
      return ticket;
    }
    const std::size_t size_before = filling_.size();
    char* const at = filling_.reserve(record.bytes());
    std::memcpy(at, header.data(), header.size());
    std::memcpy(at + header.size(), body.data(), body.size());
    filling_.advance_to(at + record.bytes());
    has_backlog = filling_.size() / kBacklogBytes != size_before / kBacklogBytes;
  }
  if (has_backlog && on_backlog_) on_backlog_();
  return ticket;
}

Result<void> Journal::flush() {
  const std::lock_guard flushing(flush_mutex_);
  return attempt([this] { return write_batch(SegmentWriter::SyncFollows::kYes); });
}

Result<void> Journal::finish() {
  const std::lock_guard flushing(flush_mutex_);
  is_finishing_ = true;
  return attempt([this] {
    auto written = write_batch(SegmentWriter::SyncFollows::kYes);
    return written ? segment_->seal() : written;
  });
}

Result<void> Journal::write_out() {
  const std::lock_guard flushing(flush_mutex_);
  return attempt([this] { return write_batch(SegmentWriter::SyncFollows::kNo); });
}

Result<std::uint64_t> Journal::rotate() {
  const std::lock_guard flushing(flush_mutex_);
  TRY(attempt([this] {
    auto written = write_batch(SegmentWriter::SyncFollows::kYes);
    return written ? seal_and_begin() : written;
  }));
  return segment_->number();
}

void Journal::wait_for_room() {
  // Whoever is writing at the moment holds the mutex that this waits for; if nobody is, this writes.
  while (is_congested() && write_out()) {
  }
}

template <class Step>
Result<void> Journal::attempt(const Step& step) {
  if (auto before = failure()) return *std::move(before);
  Result<void> done = step();
  if (!done) keep(done.error());
  return done;
}

void Journal::keep(const Error& failure) {
  {
    const std::lock_guard lock(lock_);
    is_dropping_ = true;
    filling_ = base::Output();
    taken_.store(appended_.load(std::memory_order_relaxed), std::memory_order_release);
  }
  const std::lock_guard lock(status_mutex_);
  failure_ = failure;
}

Ticket Journal::take_buffer() {
  start_with_room_for_mark(writing_);
  const std::lock_guard lock(lock_);
  std::swap(filling_, writing_);
  const Ticket ticket = appended_.load(std::memory_order_relaxed);
  taken_.store(ticket, std::memory_order_release);
  return ticket;
}

Result<void> Journal::write_batch(SegmentWriter::SyncFollows sync_follows) {
  const Ticket ticket = take_buffer();
  TRY(write_taken(sync_follows));
  if (sync_follows == SegmentWriter::SyncFollows::kNo) return {};
  TRY(sync_segment());
  synced_.store(ticket, std::memory_order_release);
  return {};
}

Result<void> Journal::write_taken(SegmentWriter::SyncFollows sync_follows) {
  if (writing_.size() == kMarkRecordBytes && !is_finishing_) return {};
  std::string_view batch = writing_.view();
  // The time is read after the buffer was taken, so that it is not before any record's.
  const Instant now = config_.now();
  if (wants_mark(now)) {
    const auto body = encode(Mark{.synced_through = segment_->synced().offset, .time = now});
    std::array<char, kMarkRecordBytes> mark{};
    framing_.write_header(mark.data(), {RecordType::kMark, view_of(body)});
    std::copy(body.begin(), body.end(), mark.begin() + kRecordHeaderBytes);
    writing_.overwrite(0, view_of(mark));
    marked_at_ = segment_->written() + kMarkRecordBytes;
    marked_time_ = now;
  } else {
    batch.remove_prefix(kMarkRecordBytes);
  }
  auto written = segment_->write(batch, sync_follows);
  const std::lock_guard lock(status_mutex_);
  if (written) bytes_ += batch.size();
  return written;
}

bool Journal::wants_mark(Instant now) const {
  return is_finishing_ || marked_at_ == 0 || segment_->written() >= marked_at_ + kMarkEveryBytes ||
         now >= marked_time_ + kMarkEvery;
}

// The watermark comes before anybody is told: what was acknowledged is below it.
Result<void> Journal::sync_segment() {
  if (segment_->synced().offset == segment_->written()) return {};
  const std::uint64_t start_ns = base::monotonic_ns();
  TRY(segment_->sync());
  TRY(watermark_.advance(segment_->synced()));
  const std::lock_guard lock(status_mutex_);
  ++syncs_total_;
  last_sync_us_ = (base::monotonic_ns() - start_ns) / 1000;
  return {};
}

Result<void> Journal::seal_and_begin() {
  TRY(segment_->seal());
  return begin_segment(segment_->number() + 1, segment_->written());
}

Result<void> Journal::begin_segment(std::uint64_t number, std::uint64_t previous_length) {
  segment_ = TRY(SegmentWriter::create(files_, config_.directory,
                                       {.kind = FileKind::kSegment,
                                        .number = number,
                                        .seed = config_.seed,
                                        .created = config_.now(),
                                        .previous_length = previous_length}));
  marked_at_ = 0;
  TRY(watermark_.set_base(segment_->synced()));
  const std::lock_guard lock(status_mutex_);
  bytes_before_[number] = bytes_;
  bytes_ += segment_->written();
  newest_segment_ = number;
  return {};
}

Result<void> Journal::remove_before(std::uint64_t number) {
  TRY(journal::remove_before(files_, config_.directory, number));
  const std::lock_guard lock(status_mutex_);
  CHECK(number <= newest_segment_);
  const auto found = bytes_before_.find(number);
  if (found == bytes_before_.end()) return {};
  oldest_segment_ = number;
  bytes_removed_ = found->second;
  bytes_before_.erase(bytes_before_.begin(), found);
  return {};
}

std::optional<Error> Journal::failure() const {
  const std::lock_guard lock(status_mutex_);
  return failure_;
}

Journal::Counters Journal::counters() const {
  const Ticket on_disk = synced();
  const std::lock_guard lock(status_mutex_);
  return {.bytes = bytes_ - bytes_removed_,
          .segments = newest_segment_ - oldest_segment_ + 1,
          .unsynced_bytes = appended() - on_disk,
          .records_total = records_total_.load(std::memory_order_relaxed),
          .syncs_total = syncs_total_,
          .last_sync_us = last_sync_us_};
}

}  // namespace mete::journal
