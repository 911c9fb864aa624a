#include "journal/segment_writer.h"

#include <algorithm>
#include <array>

#include "base/check.h"
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
  auto file = files.open(directory + "/" + segment_name(header.number), FileSystem::Mode::kCreate);
  if (!file) return tl::unexpected(file.error());
  const auto bytes = encode(header);
  if (auto written = write_all(**file, 0, view_of(bytes)); !written) return tl::unexpected(written.error());
  if (auto synced = (*file)->sync(); !synced) return tl::unexpected(synced.error());
  if (auto synced = files.sync_directory(directory); !synced) return tl::unexpected(synced.error());
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(header.number, std::move(*file)));
}

Result<void> SegmentWriter::write(std::string_view batch, SyncFollows sync_follows) {
  const std::uint64_t end = written_ + batch.size();
  if (sync_follows == SyncFollows::kYes && batch.size() < kSmallBatchBytes && end > reserved_) {
    if (auto reserved = reserve(end); !reserved) return reserved;
  }
  if (auto written = write_all(*file_, written_, batch); !written) return written;
  written_ = end;
  reserved_ = std::max(reserved_, end);
  return {};
}

Result<void> SegmentWriter::reserve(std::uint64_t end) {
  end = reserved_ + std::max<std::uint64_t>(kReserveBytes, end - reserved_);
  while (reserved_ < end) {
    const std::size_t size = std::min<std::uint64_t>(kZeros.size(), end - reserved_);
    if (auto written = write_all(*file_, reserved_, view_of(kZeros).substr(0, size)); !written) return written;
    reserved_ += size;
  }
  return {};
}

Result<void> SegmentWriter::sync() {
  if (auto synced = file_->sync(); !synced) return synced;
  synced_ = written_;
  return {};
}

Result<void> SegmentWriter::seal() {
  CHECK(synced_ == written_);
  if (reserved_ == written_) return {};
  if (auto cut = file_->truncate(written_); !cut) return cut;
  reserved_ = written_;
  return file_->sync();
}

}  // namespace mete::journal
