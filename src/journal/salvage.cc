#include "journal/salvage.h"

#include <algorithm>
#include <optional>
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

class Salvage {
 public:
  Salvage(FileSystem& files, const SalvageRequest& request) : files_(files), request_(request) {}

  Result<Salvaged> run();

 private:
  struct Subject {
    FileKind kind = FileKind::kSegment;
    std::uint64_t number = 0;

    [[nodiscard]] std::string name() const {
      return kind == FileKind::kSegment ? segment_name(number) : snapshot_name(number);
    }
  };

  Result<void> find_seed();
  Result<void> read_snapshot();
  Result<void> read_segments();
  Result<void> read_file(const Subject& subject);
  Result<void> read_records(RecordFile& file, const Subject& subject);
  bool take_header(RecordFile& file, const Subject& subject);
  Result<void> take_record(const Record& record, const Subject& subject, const RecordPosition& place);
  Result<void> pass_over(RecordFile& file, const Subject& subject, const char* problem);
  void check_watermark();
  void expect_length(std::uint64_t segment, std::uint64_t length);

  void tell(const std::string& file, std::uint64_t from, std::uint64_t to, const std::string& problem) {
    request_.on_damage({file, from, to, problem});
  }
  [[nodiscard]] std::string path(const Subject& subject) const { return request_.directory + "/" + subject.name(); }

  FileSystem& files_;
  const SalvageRequest& request_;
  Directory found_;
  std::optional<Framing> framing_;
  std::uint64_t last_length_ = 0;  // of the segment that was read last: up to the end of its last record
  std::optional<End> end_;         // of the snapshot
  Salvaged salvaged_;
};

Result<Salvaged> Salvage::run() {
  found_ = TRY(read_directory(files_, request_.directory));
  TRY(find_seed());
  TRY(read_snapshot());
  TRY(read_segments());
  check_watermark();
  for (const auto& numbers : {found_.snapshots, found_.segments}) {
    if (!numbers.empty()) salvaged_.next_number = std::max(salvaged_.next_number, numbers.back() + 1);
  }
  return salvaged_;
}

// Without it no record can be told from chance. It stands in every header.
Result<void> Salvage::find_seed() {
  std::vector<Subject> subjects;
  for (const std::uint64_t number : found_.snapshots) subjects.push_back({FileKind::kSnapshot, number});
  for (const std::uint64_t number : found_.segments) subjects.push_back({FileKind::kSegment, number});
  for (const Subject& subject : subjects) {
    auto file = RecordFile::open(files_, path(subject));
    if (!file) continue;
    const auto parsed = file->read_header(subject.kind);
    if (!parsed || parsed->kind != ParsedHeader::Kind::kHeader) continue;
    salvaged_.seed = parsed->header.seed;
    framing_.emplace(parsed->header.seed);
    return {};
  }
  return base::unavailable("nothing can be saved of " + request_.directory +
                           ": it has no segment and no snapshot whose header is whole; restore a backup");
}

Result<void> Salvage::read_snapshot() {
  if (found_.snapshots.empty()) return {};
  const Subject subject{FileKind::kSnapshot, found_.snapshots.back()};
  TRY(read_file(subject));
  if (!end_) {
    tell(subject.name(), salvaged_.snapshot.bytes, salvaged_.snapshot.bytes, "its end is missing");
  } else if (end_->records != salvaged_.snapshot.records) {
    tell(subject.name(), 0, salvaged_.snapshot.bytes,
         "of " + std::to_string(end_->records) + " records " + std::to_string(salvaged_.snapshot.records) +
             " are whole");
  }
  return {};
}

Result<void> Salvage::read_segments() {
  std::uint64_t expected = found_.snapshots.empty() ? 1 : found_.snapshots.back();
  for (const std::uint64_t number : found_.segments) {
    if (number < expected) continue;
    for (; expected < number; ++expected) {
      tell(segment_name(expected), 0, 0, "the file is missing");
      last_length_ = 0;
    }
    TRY(read_file({FileKind::kSegment, number}));
    expected = number + 1;
  }
  return {};
}

// What the system cannot read is damage like any other, and ends the file.
Result<void> Salvage::read_file(const Subject& subject) {
  auto file = RecordFile::open(files_, path(subject));
  if (!file) {
    tell(subject.name(), 0, 0, file.error().message);
    return {};
  }
  if (!take_header(*file, subject)) return {};
  auto& amount = subject.kind == FileKind::kSegment ? salvaged_.journal : salvaged_.snapshot;
  amount.bytes += file->size();
  return read_records(*file, subject);
}

// False if nothing of the file can be used.
bool Salvage::take_header(RecordFile& file, const Subject& subject) {
  const auto parsed = file.read_header(subject.kind);
  if (!parsed || parsed->kind == ParsedHeader::Kind::kUnknown) {
    tell(subject.name(), 0, file.size(), parsed ? parsed->problem : parsed.error().message);
    return false;
  }
  if (parsed->kind == ParsedHeader::Kind::kBroken) {
    tell(subject.name(), 0, file.offset(), parsed->problem);
    return true;
  }
  const FileHeader& header = parsed->header;
  if (header.seed != salvaged_.seed || header.number != subject.number) {
    tell(subject.name(), 0, file.size(), "it belongs elsewhere");
    return false;
  }
  if (subject.kind == FileKind::kSegment) expect_length(subject.number - 1, header.previous_length);
  salvaged_.latest_time = std::max(salvaged_.latest_time, header.created);
  return true;
}

void Salvage::expect_length(std::uint64_t segment, std::uint64_t length) {
  if (last_length_ != 0 && last_length_ < length) {
    tell(segment_name(segment), last_length_, length, "the end of the file is missing");
  }
}

Result<void> Salvage::read_records(RecordFile& file, const Subject& subject) {
  const std::string name = subject.name();
  const bool is_segment = subject.kind == FileKind::kSegment;
  if (is_segment) last_length_ = file.offset();
  while (!file.is_at_end()) {
    const RecordPosition place{name, file.offset()};
    const auto parsed = file.next(*framing_);
    if (!parsed) {
      tell(name, place.offset, file.size(), parsed.error().message);
      return {};
    }
    if (parsed->kind == ParsedRecord::Kind::kRecord) {
      if (is_segment) last_length_ = file.offset();
      TRY(take_record(parsed->record, subject, place));
    } else if (auto passed = pass_over(file, subject, parsed->problem); !passed) {
      tell(name, place.offset, file.size(), passed.error().message);
      return {};
    }
  }
  return {};
}

Result<void> Salvage::take_record(const Record& record, const Subject& subject, const RecordPosition& place) {
  if (record.type == RecordType::kChanges) {
    ++(subject.kind == FileKind::kSegment ? salvaged_.journal : salvaged_.snapshot).records;
    return request_.on_record(record.body, place);
  }
  if (record.type == RecordType::kMark) {
    if (const auto mark = parse_mark(record.body)) salvaged_.latest_time = std::max(salvaged_.latest_time, mark->time);
  } else if (subject.kind == FileKind::kSnapshot) {
    end_ = parse_end(record.body);
  }
  return {};
}

Result<void> Salvage::pass_over(RecordFile& file, const Subject& subject, const char* problem) {
  const std::uint64_t from = file.offset();
  const auto passed = TRY(file.skip(*framing_, RecordFile::Wanted::kAny));
  // Zeros up to the end of a segment were reserved, and never written to.
  const bool is_reserve = passed == 0 && file.is_at_end() && subject.kind == FileKind::kSegment;
  if (!is_reserve) tell(subject.name(), from, file.offset(), problem);
  return {};
}

void Salvage::check_watermark() {
  const auto watermark = read_watermark(files_, request_.directory);
  if (!watermark) {
    tell(std::string(kWatermarkName), 0, 0, watermark.error().message);
    return;
  }
  salvaged_.next_number = std::max(salvaged_.next_number, watermark->segment + 1);
  const std::uint64_t last = found_.segments.empty() ? 0 : found_.segments.back();
  if (watermark->segment > last && watermark->offset > 0) {
    tell(segment_name(watermark->segment), 0, watermark->offset, "the file is missing");
  } else if (watermark->segment == last && last_length_ < watermark->offset) {
    tell(segment_name(last), last_length_, watermark->offset, "this was synced, and is not there");
  }
}

}  // namespace

Result<Salvaged> salvage(FileSystem& files, const SalvageRequest& request) { return Salvage(files, request).run(); }

Result<void> complete_repair(FileSystem& files, const std::string& directory, std::uint64_t number) {
  TRY(replace_watermark(files, directory, {number, 0}));
  return remove_before(files, directory, number);
}

}  // namespace mete::journal
