#include "journal/segment_writer.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/try.h"
#include "journal/directory.h"
#include "journal/file_system.h"

namespace mete::journal {

namespace {

constexpr std::size_t kSmallBatchBytes = std::size_t{64} << 10;  // below this, the sync takes longer than the write
constexpr std::size_t kReserveBytes = std::size_t{1} << 20;

constexpr std::array<char, kSmallBatchBytes> kZeros{};

}  // namespace

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::create(FileSystem& files, const std::string& directory,
                                                             const FileHeader& header) {
  auto file = TRY(files.open(directory + "/" + segment_name(header.number), FileSystem::Mode::kCreate));
  const auto bytes = encode(header);
  TRY(write_all(*file, 0, view_of(bytes)));
  TRY(file->sync());
  TRY(files.sync_directory(directory));
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(header.number, std::move(file)));
}

Result<void> SegmentWriter::write(std::string_view batch, SyncFollows sync_follows) {
  const std::uint64_t end = written_ + batch.size();
  if (sync_follows == SyncFollows::kYes && batch.size() < kSmallBatchBytes && end > reserved_) {
    TRY(reserve(end));
  }
  TRY(write_all(*file_, written_, batch));
  written_ = end;
  reserved_ = std::max(reserved_, end);
  return {};
}

Result<void> SegmentWriter::reserve(std::uint64_t end) {
  end = reserved_ + std::max<std::uint64_t>(kReserveBytes, end - reserved_);
  while (reserved_ < end) {
    const std::size_t size = std::min<std::uint64_t>(kZeros.size(), end - reserved_);
    TRY(write_all(*file_, reserved_, view_of(kZeros).substr(0, size)));
    reserved_ += size;
  }
  return {};
}

Result<void> SegmentWriter::sync() {
  TRY(file_->sync());
  synced_ = written_;
  return {};
}

Result<void> SegmentWriter::seal() {
  CHECK(synced_ == written_);
  if (reserved_ == written_) return {};
  TRY(file_->truncate(written_));
  reserved_ = written_;
  return file_->sync();
}

}  // namespace mete::journal
