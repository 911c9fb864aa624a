#include "journal/snapshot_writer.h"

#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "journal/directory.h"
#include "journal/file_system.h"

namespace mete::journal {

namespace {

constexpr std::size_t kWriteBufferBytes = std::size_t{1} << 20;

}  // namespace

SnapshotWriter::SnapshotWriter(FileSystem& files, Config config, std::unique_ptr<File> file)
    : files_(files), config_(std::move(config)), framing_(config_.seed), file_(std::move(file)) {
  buffer_.append(view_of(encode(FileHeader{.kind = FileKind::kSnapshot,
                                           .number = config_.number,
                                           .seed = config_.seed,
                                           .created = config_.created,
                                           .previous_length = 0})));
}

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::create(FileSystem& files, Config config) {
  auto file = TRY(create_temporary(files, config.directory, snapshot_name(config.number)));
  return std::unique_ptr<SnapshotWriter>(new SnapshotWriter(files, std::move(config), std::move(file)));
}

SnapshotWriter::~SnapshotWriter() {
  // If that fails too, the next start removes it.
  if (!is_finished_) static_cast<void>(remove_temporary(files_, config_.directory, snapshot_name(config_.number)));
}

Result<void> SnapshotWriter::append(std::string_view body) {
  CHECK(!is_finished_);
  framing_.append(buffer_, {RecordType::kChanges, body});
  ++records_;
  return buffer_.size() < kWriteBufferBytes ? Result<void>() : write_buffer();
}

Result<void> SnapshotWriter::write_buffer() {
  TRY(write_all(*file_, written_, buffer_.view()));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> SnapshotWriter::finish() {
  CHECK(!is_finished_);
  const auto end = encode(End{.records = records_, .bytes = bytes() - kFileHeaderBytes});
  framing_.append(buffer_, {RecordType::kEnd, view_of(end)});
  TRY(write_buffer());
  TRY(file_->sync());
  auto published = publish_temporary(files_, config_.directory, snapshot_name(config_.number));
  is_finished_ = published.has_value();
  return published;
}

}  // namespace mete::journal
