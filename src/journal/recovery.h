// Recovery: reads a data directory back: the newest snapshot, then the segments from its number on.
//
// Every byte is checked. What is not as it was written is one of two things:
//   - a tail that was never acknowledged: it is at the end of the last segment, above the watermark, and no later mark
//     says that it had been synced. It is cut off, and told.
//   - damage: anything else. That is an error, which says where, and what to do.
//
// docs/formats/journal.md has the rules with their reasons.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "journal/file_system.h"
#include "journal/journal.h"

namespace mete::journal {

// Where a record stands.
struct RecordPosition {
  std::string_view file;  // its name in the directory
  std::uint64_t offset = 0;
};

struct Progress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};

enum class RecoveryMode : std::uint8_t {
  kStart,  // cuts, and removes what is not needed any more; the directory is locked by the caller
  // Changes nothing. The files may be in use: then a cut is a record that is being written, and an error that a file
  // cannot be opened may mean that a newer snapshot has just replaced it: look again.
  kLookOnly,
};

struct RecoveryRequest {
  std::string directory;
  RecoveryMode mode = RecoveryMode::kStart;
  // Is given the bodies in the order in which they were written, those of the snapshot first. An error ends it all.
  std::function<Result<void>(std::string_view body, const RecordPosition& place)> on_record;
  // The store's number, before the first record; not called if the directory is new.
  std::function<void(std::uint64_t seed)> on_seed = {};
  std::function<void(const Progress&)> on_progress = {};  // about once in a mebibyte
};

struct Recovered {
  struct Cut {
    std::string file;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // that were not zero
  };
  struct Amount {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };

  bool is_new = false;                // there was nothing; what follows is then as it stands here
  std::uint64_t seed = 0;             // the store's
  std::uint64_t snapshot_number = 0;  // 0: none
  Instant snapshot_created;
  Amount snapshot;
  Amount journal;
  Instant latest_time;  // nothing that was recovered is later, if marks and headers had the right time
  std::optional<Cut> cut;
  Continuation continuation;  // for Journal::Config
};

Result<Recovered> recover(FileSystem& files, const RecoveryRequest& request);

}  // namespace mete::journal
