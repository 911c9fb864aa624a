#include "journal/record_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "journal/file_system.h"

namespace mete::journal {

namespace {

constexpr std::size_t kReadBufferBytes = std::size_t{1} << 20;  // more for the few records that need it

// How many of the first bytes cannot begin a record, because it would be one without a length. For the mebibyte of
// zeros that a segment ends with.
std::size_t zeros_to_pass(std::string_view bytes) {
  std::size_t at = 0;
  while (at + 16 <= bytes.size() &&
         (base::load<std::uint64_t>(bytes.data() + at) | base::load<std::uint64_t>(bytes.data() + at + 8)) == 0) {
    at += 8;
  }
  return at;
}

// Sorts out most places before anything is computed.
bool may_be_record(std::string_view bytes, RecordFile::Wanted wanted) {
  if (bytes.size() < kRecordHeaderBytes || static_cast<std::uint8_t>(bytes[9]) != kRecordVersion) return false;
  const auto type = static_cast<RecordType>(bytes[8]);
  if (wanted == RecordFile::Wanted::kAny) return type >= RecordType::kChanges && type <= RecordType::kEnd;
  return type == RecordType::kMark && base::load<std::uint32_t>(bytes.data() + 4) == kMarkBodyBytes;
}

}  // namespace

RecordFile::RecordFile(std::unique_ptr<File> file, std::uint64_t size)
    : file_(std::move(file)), size_(size), buffer_(std::min<std::uint64_t>(kReadBufferBytes, size)) {}

Result<RecordFile> RecordFile::open(FileSystem& files, const std::string& path) {
  auto file = TRY(files.open(path, FileSystem::Mode::kRead));
  const auto size = TRY(file->size());
  return RecordFile(std::move(file), size);
}

Result<ParsedHeader> RecordFile::read_header(FileKind kind) {
  std::array<char, kFileHeaderBytes> bytes{};
  const auto got = TRY(read_all(*file_, 0, bytes));
  move_to(std::min<std::uint64_t>(kFileHeaderBytes, size_));
  return parse_header({bytes.data(), got}, kind);
}

void RecordFile::move_to(std::uint64_t offset) {
  start_ = offset;
  at_ = end_ = 0;
}

Result<void> RecordFile::fill() {
  std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
  start_ += at_;
  end_ -= at_;
  at_ = 0;
  const std::size_t room = std::min<std::uint64_t>(buffer_.size() - end_, size_ - start_ - end_);
  const auto got = TRY(read_all(*file_, start_ + end_, {buffer_.data() + end_, room}));
  end_ += got;
  // Shorter than when it was opened: it was cut meanwhile.
  if (got < room) size_ = start_ + end_;
  return {};
}

Result<ParsedRecord> RecordFile::parse(const Framing& framing) {
  ParsedRecord parsed = framing.parse(rest());
  while (parsed.kind == ParsedRecord::Kind::kIncomplete && start_ + end_ < size_) {
    // As large as a record says that it is, if it can be that.
    if (at_ == 0 && end_ == buffer_.size())
      buffer_.resize(std::min(2 * buffer_.size(), kRecordBytesMax + kReadBufferBytes));
    TRY(fill());
    parsed = framing.parse(rest());
  }
  return parsed;
}

Result<ParsedRecord> RecordFile::next(const Framing& framing) {
  auto parsed = parse(framing);
  if (parsed && parsed->kind == ParsedRecord::Kind::kRecord) at_ += parsed->record.bytes();
  return parsed;
}

Result<std::uint64_t> RecordFile::skip(const Framing& framing, Wanted wanted) {
  std::uint64_t passed = 0;
  while (true) {
    if (end_ - at_ < kReadBufferBytes / 2 && start_ + end_ < size_) {
      TRY(fill());
    }
    if (at_ == end_) return passed;
    if (const std::size_t zeros = zeros_to_pass(rest()); zeros > 0) {
      at_ += zeros;
      continue;
    }
    if (may_be_record(rest(), wanted)) {
      const auto parsed = TRY(parse(framing));
      if (parsed.kind == ParsedRecord::Kind::kRecord) return passed;
    }
    if (buffer_[at_] != 0) ++passed;
    ++at_;
  }
}

}  // namespace mete::journal
