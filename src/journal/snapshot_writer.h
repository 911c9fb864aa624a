// SnapshotWriter: writes a snapshot beside everything else that goes on in the directory. It counts once finish() has
// returned; before that, and if it is destroyed without it, there is none.
//
//     auto writer = SnapshotWriter::create(files, {.directory = …, .number = journal.rotate(), …});
//     for (…) writer->append(body);
//     writer->finish();
//     journal.remove_before(number);
//
// Ownership: borrows the FileSystem. Thread safety: one thread at a time. After an error nothing more may be asked of
// it.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/output.h"
#include "journal/file_system.h"
#include "journal/format.h"
#include "journal/record.h"

namespace mete::journal {

class SnapshotWriter {
 public:
  struct Config {
    std::string directory;
    std::uint64_t number = 0;  // of the segment from which on the journal is replayed behind it
    std::uint64_t seed = 0;
    Instant created;
  };

  static Result<std::unique_ptr<SnapshotWriter>> create(FileSystem& files, Config config);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  ~SnapshotWriter();

  // A record of 1 to kBodyBytesMax bytes; some 64 KiB are a good size.
  Result<void> append(std::string_view body);
  // It is on disk, under its name.
  Result<void> finish();

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t bytes() const { return written_ + buffer_.size(); }

 private:
  SnapshotWriter(FileSystem& files, Config config, std::unique_ptr<File> file);

  Result<void> write_buffer();

  FileSystem& files_;
  const Config config_;
  const Framing framing_;
  std::unique_ptr<File> file_;
  base::Output buffer_;
  std::uint64_t written_ = 0;
  std::uint64_t records_ = 0;
  bool is_finished_ = false;
};

}  // namespace mete::journal
