// CounterFile: a node's counters on disk, in the file `counters` of its data directory.
//
//     frame   size of what follows the hash, 4 bytes; its hash (XXH3), 8 bytes; a byte, and what it stands for:
//       1       a start: the identity of the data directory, and the writer that the node is from here on
//       2       states of counters that have changed, as STORE MERGE brings them to another node (codec.h)
//       3       an orderly stop: all that was ever told to anybody is in the file
//
// Merging all states of the file, in whatever order, gives the counters; also those that have gone, for an older state
// of the same counter is in the file as well, and would come back without them. So what has changed is appended, and
// the file is written anew when it has grown to twice its size and a bit. What was not written when the power went is
// cut off.
//
// A node that stopped in order goes on as the writer it was. One that did not has new slots from then on: others may
// have more of the old ones than the file. Thread safety: none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "escrow/counters/counters.h"
#include "journal/file_system.h"

namespace mete::escrow {

inline constexpr std::string_view kCountersFile = "counters";

class CounterFile {
 public:
  // The file is written anew when it has this much more than twice what it had when that was last done.
  static constexpr std::uint64_t kGrowsBy = std::uint64_t{4} << 20;

  struct Folder {
    journal::FileSystem& files;
    std::string directory;
    std::string identity;  // of the directory: a file that came from another one tells nothing about who wrote it
  };
  // Reads the file, or makes it. `self` is who this node is if it cannot go on as whom it was.
  static Result<std::unique_ptr<CounterFile>> open(Folder folder, Writer self);

  // Who this node is.
  [[nodiscard]] const Writer& self() const { return self_; }
  // Puts what was read into the counters, and forgets it; once.
  Result<void> load_into(Counters& counters);
  // Writes what has changed since the last time. An error is for good: nothing is written after it.
  Result<void> write_changes(Counters& counters, Instant now);
  // The same for the last time: a start after this one goes on as the same writer.
  Result<void> end(Counters& counters, Instant now);

  [[nodiscard]] std::uint64_t bytes() const { return size_; }

 private:
  enum class Kind : std::uint8_t { kStart = 1, kStates = 2, kEnd = 3 };

  CounterFile(Folder folder, Writer self) : folder_(std::move(folder)), self_(std::move(self)) {}

  Result<void> read();
  Result<void> read_frames(std::string_view bytes);
  // False: it cannot be read.
  bool read_frame(std::string_view payload);
  Result<void> append(Kind kind, std::string_view rest);
  Result<void> append_start();
  Result<void> write_states(const Counters::Changes& changes);
  Result<void> rewrite(Counters& counters, Instant now);
  Result<void> check(Result<void> done);

  const Folder folder_;
  Writer self_;
  std::unique_ptr<journal::File> file_;
  std::uint64_t size_ = 0;
  std::uint64_t size_rewritten_ = 0;
  std::vector<std::string> loaded_;
  Counters::Cursor written_;
  std::optional<Error> failure_;

  // Of what was read.
  Writer last_writer_;
  std::string last_identity_;
  bool has_ended_ = false;
};

}  // namespace mete::escrow
