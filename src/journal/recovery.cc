#include "journal/recovery.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "journal/directory.h"
#include "journal/format.h"
#include "journal/record_file.h"
#include "journal/watermark.h"

namespace mete::journal {

namespace {

constexpr std::uint64_t kProgressBytes = std::uint64_t{1} << 20;

class Recovery {
 public:
  Recovery(FileSystem& files, const RecoveryRequest& request) : files_(files), request_(request) {}

  Result<Recovered> run();

 private:
  using Wanted = RecordFile::Wanted;

  Result<void> find();
  Result<void> drop_unborn_segment();
  Result<void> check_sequence() const;
  Result<void> read_snapshot();
  Result<void> read_segments();
  Result<void> read_segment(std::uint64_t number, bool is_last);
  Result<void> judge_tail(RecordFile& file, const RecordPosition& place, std::string_view problem);
  Result<bool> is_whole_by_now(RecordFile& file, const RecordPosition& place);
  Result<void> clean_up();

  Result<RecordFile> open(const std::string& name, std::uint64_t number, FileKind kind);
  Result<void> take(const ParsedHeader& parsed, const std::string& name, std::uint64_t number);
  Result<void> deliver(const Record& record, const RecordPosition& place, Recovered::Amount& amount);
  Result<void> cut_last_segment();
  Result<void> add_size(const std::string& name);

  [[nodiscard]] std::string path(std::string_view name) const { return request_.directory + "/" + std::string(name); }
  [[nodiscard]] Error damaged(const RecordPosition& place, std::string_view problem) const {
    return damage({request_.directory, place.file, place.offset}, problem);
  }
  [[nodiscard]] Error too_new(const RecordPosition& place, std::string_view problem) const {
    return base::unavailable(path(place.file) + " cannot be read from byte " + std::to_string(place.offset) +
                             " on: " + std::string(problem) + "; use the program that wrote it");
  }
  [[nodiscard]] bool has_snapshot() const { return recovered_.snapshot_number != 0; }

  FileSystem& files_;
  const RecoveryRequest& request_;
  std::vector<std::uint64_t> segments_;  // that are replayed
  std::vector<std::string> temporary_;
  std::optional<std::uint64_t> unborn_segment_;
  Position watermark_;
  std::optional<Framing> framing_;
  FileHeader header_;              // of the file that was opened last
  std::uint64_t last_length_ = 0;  // of what is good of the segment that was read last
  bool is_last_longer_ = false;    // than that
  Progress progress_;
  std::uint64_t progress_told_ = 0;
  Recovered recovered_;
};

Result<Recovered> Recovery::run() {
  TRY(find());
  TRY(drop_unborn_segment());
  TRY(check_sequence());
  recovered_.is_new = !has_snapshot() && segments_.empty();
  if (has_snapshot()) {
    TRY(read_snapshot());
  }
  TRY(read_segments());
  if (request_.mode == RecoveryMode::kStart) {
    TRY(clean_up());
  }
  const std::uint64_t first = std::max<std::uint64_t>(recovered_.snapshot_number, 1);
  recovered_.continuation = {.next_segment = segments_.empty() ? first : segments_.back() + 1,
                             .previous_length = last_length_,
                             .oldest_segment = first,
                             .bytes = recovered_.journal.bytes};
  return std::move(recovered_);
}

// The watermark before the files: of a journal that is being written, it is then behind what is read of them.
Result<void> Recovery::find() {
  auto found = read_directory(files_, request_.directory);
  if (!found) return found.error();
  if (found->has_watermark) {
    watermark_ = TRY(read_watermark(files_, request_.directory));
    found = read_directory(files_, request_.directory);
    if (!found) return found.error();
  } else if (!found->segments.empty()) {
    return damaged({kWatermarkName, 0}, "the file is missing");
  }
  if (!found->snapshots.empty()) recovered_.snapshot_number = found->snapshots.back();
  for (const std::uint64_t segment : found->segments) {
    if (segment >= recovered_.snapshot_number) segments_.push_back(segment);
  }
  temporary_ = std::move(found->temporary);
  if (has_snapshot()) {
    TRY(add_size(snapshot_name(recovered_.snapshot_number)));
  }
  for (const std::uint64_t segment : segments_) {
    TRY(add_size(segment_name(segment)));
  }
  return {};
}

Result<void> Recovery::add_size(const std::string& name) {
  const auto file = TRY(files_.open(path(name), FileSystem::Mode::kRead));
  const auto size = TRY(file->size());
  progress_.bytes_total += size;
  return {};
}

// Nothing is written to a segment before its header is synced and the watermark is in it. So one that has no header yet
// was being created when the process ended.
Result<void> Recovery::drop_unborn_segment() {
  if (segments_.empty() || watermark_ >= Position{segments_.back(), kFileHeaderBytes}) return {};
  auto file = TRY(RecordFile::open(files_, path(segment_name(segments_.back()))));
  const auto header = TRY(file.read_header(FileKind::kSegment));
  if (header.kind != ParsedHeader::Kind::kBroken || file.size() > kFileHeaderBytes) return {};
  unborn_segment_ = segments_.back();
  segments_.pop_back();
  return {};
}

Result<void> Recovery::check_sequence() const {
  const auto missing = [this](std::uint64_t number) {
    return damaged({segment_name(number), 0}, "the file is missing");
  };
  std::uint64_t expected = std::max<std::uint64_t>(recovered_.snapshot_number, 1);
  for (const std::uint64_t segment : segments_) {
    if (segment != expected) return missing(expected);
    ++expected;
  }
  if (watermark_ > Position{expected, 0}) return missing(expected);
  return {};
}

Result<RecordFile> Recovery::open(const std::string& name, std::uint64_t number, FileKind kind) {
  auto file = TRY(RecordFile::open(files_, path(name)));
  const auto parsed = TRY(file.read_header(kind));
  TRY(take(parsed, name, number));
  return file;
}

Result<void> Recovery::take(const ParsedHeader& parsed, const std::string& name, std::uint64_t number) {
  const RecordPosition place{name, 0};
  if (parsed.kind == ParsedHeader::Kind::kUnknown) return too_new(place, parsed.problem);
  if (parsed.kind == ParsedHeader::Kind::kBroken) return damaged(place, parsed.problem);
  header_ = parsed.header;
  if (header_.number != number) return damaged(place, "its header says number " + std::to_string(header_.number));
  if (!framing_) {
    recovered_.seed = header_.seed;
    if (request_.on_seed) request_.on_seed(header_.seed);
    framing_.emplace(header_.seed);
  }
  if (header_.seed != recovered_.seed) return damaged(place, "it belongs to another store");
  recovered_.latest_time = std::max(recovered_.latest_time, header_.created);
  return {};
}

Result<void> Recovery::deliver(const Record& record, const RecordPosition& place, Recovered::Amount& amount) {
  ++amount.records;
  progress_.bytes_done += record.bytes();
  if (request_.on_progress && progress_.bytes_done >= progress_told_ + kProgressBytes) {
    progress_told_ = progress_.bytes_done;
    request_.on_progress(progress_);
  }
  return request_.on_record(record.body, place);
}

Result<void> Recovery::read_snapshot() {
  const std::string name = snapshot_name(recovered_.snapshot_number);
  auto file = TRY(open(name, recovered_.snapshot_number, FileKind::kSnapshot));
  recovered_.snapshot_created = header_.created;
  recovered_.snapshot.bytes = file.size();
  while (true) {
    const RecordPosition place{name, file.offset()};
    const auto parsed = TRY(file.next(*framing_));
    if (parsed.kind == ParsedRecord::Kind::kUnknown) return too_new(place, parsed.problem);
    if (parsed.kind != ParsedRecord::Kind::kRecord) return damaged(place, parsed.problem);
    if (parsed.record.type == RecordType::kEnd) {
      const End end{.records = recovered_.snapshot.records, .bytes = place.offset - kFileHeaderBytes};
      if (parse_end(parsed.record.body) != end) return damaged(place, "records are missing before it");
      if (!file.is_at_end()) return damaged({name, file.offset()}, "the file goes on after its end");
      return {};
    }
    if (parsed.record.type != RecordType::kChanges) return damaged(place, "the record does not belong here");
    TRY(deliver(parsed.record, place, recovered_.snapshot));
  }
}

Result<void> Recovery::read_segments() {
  for (const std::uint64_t number : segments_) {
    TRY(read_segment(number, number == segments_.back()));
  }
  return {};
}

Result<void> Recovery::read_segment(std::uint64_t number, bool is_last) {
  const std::string name = segment_name(number);
  auto file = TRY(open(name, number, FileKind::kSegment));
  // Of the first one nothing is read that stands before it.
  if (number != segments_.front() && header_.previous_length != last_length_) {
    return damaged({segment_name(number - 1), last_length_},
                   "it should be " + std::to_string(header_.previous_length) + " bytes long");
  }
  last_length_ = file.offset();
  while (!file.is_at_end()) {
    const RecordPosition place{name, file.offset()};
    const auto parsed = TRY(file.next(*framing_));
    if (parsed.kind == ParsedRecord::Kind::kUnknown) return too_new(place, parsed.problem);
    if (parsed.kind != ParsedRecord::Kind::kRecord) {
      if (!is_last) return damaged(place, parsed.problem);
      TRY(judge_tail(file, place, parsed.problem));
      break;
    }
    last_length_ = file.offset();
    if (parsed.record.type == RecordType::kChanges) {
      TRY(deliver(parsed.record, place, recovered_.journal));
    } else if (const auto mark = parse_mark(parsed.record.body); mark && parsed.record.type == RecordType::kMark) {
      recovered_.latest_time = std::max(recovered_.latest_time, mark->time);
    } else {
      return damaged(place, "the record does not belong here");
    }
  }
  if (watermark_.segment == number && last_length_ < watermark_.offset) {
    return damaged({name, last_length_},
                   "it ends here, but was synced up to byte " + std::to_string(watermark_.offset));
  }
  recovered_.journal.bytes += last_length_;
  return {};
}

Result<void> Recovery::judge_tail(RecordFile& file, const RecordPosition& place, std::string_view problem) {
  if (watermark_ > Position{header_.number, place.offset}) return damaged(place, problem);
  std::uint64_t bytes = 0;
  while (true) {
    const auto passed = TRY(file.skip(*framing_, Wanted::kMarks));
    bytes += passed;
    if (file.is_at_end()) break;
    const auto parsed = TRY(file.next(*framing_));
    const auto mark = parse_mark(parsed.record.body);
    if (mark && mark->synced_through > place.offset) {
      const auto was_unfinished = TRY(is_whole_by_now(file, place));
      if (!was_unfinished) return damaged(place, problem);
      break;
    }
    bytes += parsed.record.bytes();
  }
  is_last_longer_ = true;
  if (bytes > 0) recovered_.cut = Recovered::Cut{std::string(place.file), place.offset, bytes};
  return {};
}

// A journal that is in use was perhaps read while the record was being written, and the mark behind it thereafter.
Result<bool> Recovery::is_whole_by_now(RecordFile& file, const RecordPosition& place) {
  if (request_.mode == RecoveryMode::kStart) return false;
  file.move_to(place.offset);
  const auto parsed = TRY(file.next(*framing_));
  return parsed.kind == ParsedRecord::Kind::kRecord;
}

// What was read counts from now on, so first of all it is made sure that it stays: a process that was killed may have
// left it, and its name, unsynced.
Result<void> Recovery::clean_up() {
  if (!segments_.empty()) {
    TRY(cut_last_segment());
  }
  if (!recovered_.is_new) {
    TRY(files_.sync_directory(request_.directory));
  }
  std::vector<std::string> names = std::move(temporary_);
  if (unborn_segment_) names.push_back(segment_name(*unborn_segment_));
  for (const std::string& name : names) {
    TRY(files_.remove(path(name)));
  }
  if (!names.empty()) {
    TRY(files_.sync_directory(request_.directory));
  }
  return remove_before(files_, request_.directory, recovered_.snapshot_number);
}

Result<void> Recovery::cut_last_segment() {
  const auto file = TRY(files_.open(path(segment_name(segments_.back())), FileSystem::Mode::kWrite));
  if (is_last_longer_) {
    TRY(file->truncate(last_length_));
  }
  return file->sync();
}

}  // namespace

Result<Recovered> recover(FileSystem& files, const RecoveryRequest& request) { return Recovery(files, request).run(); }

}  // namespace mete::journal
