// Watermark: the file that says how far the journal is known to be synced. Recovery tells by it what is damage (below)
// from what is only unfinished (above).
//
//     offset 0     base     synced itself when it is set: at the start of each segment
//     offset 512   latest   rewritten after each sync of the journal, and not synced: it outlives a kill of the
//     process,
//                           and after a power cut it may be old or torn
//
// The slots lie in sectors of their own, and never are both unsynced changes of one moment: one of them is always
// whole. Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "journal/file_system.h"
#include "journal/format.h"

namespace mete::journal {

class Watermark {
 public:
  // Opens the directory's, or makes it. Nothing counts as synced before `set_base`.
  static Result<Watermark> open(FileSystem& files, const std::string& directory, const Position& if_new);

  // A new segment begins; on disk when this returns.
  Result<void> set_base(const Position& position);
  // The segment is synced up to here.
  Result<void> advance(const Position& position);

 private:
  explicit Watermark(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;
};

// The higher one of the slots that are whole; kUnavailable if none is.
[[nodiscard]] Result<Position> read_watermark(FileSystem& files, const std::string& directory);

// Replaces the file, whatever it was: for a repaired directory.
Result<void> replace_watermark(FileSystem& files, const std::string& directory, const Position& position);

}  // namespace mete::journal
