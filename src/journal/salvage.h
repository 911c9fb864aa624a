// Salvage: reads what can still be read of a damaged data directory, and tells what cannot.
//
// It goes over damage to the next record that is whole, and over missing files to the next one that is there. It writes
// nothing: the caller makes a state of what it is given and writes it as snapshot `next_number`, then calls
// complete_repair. What has been lost in between may be missing from that state: repairing is for those who have no
// backup.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "journal/file_system.h"
#include "journal/recovery.h"

namespace mete::journal {

struct DamagedRange {
  std::string file;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::string problem;
};

struct SalvageRequest {
  std::string directory;
  // As in RecoveryRequest.
  std::function<Result<void>(std::string_view body, const RecordPosition& place)> on_record;
  std::function<void(const DamagedRange&)> on_damage;
};

struct Salvaged {
  std::uint64_t seed = 0;         // the store's
  std::uint64_t next_number = 0;  // above all that was found
  Instant latest_time;
  Recovered::Amount snapshot;  // of the records that were whole
  Recovered::Amount journal;
};

// An error if nothing can be read at all, or if on_record returns one.
Result<Salvaged> salvage(FileSystem& files, const SalvageRequest& request);

// Once snapshot `number` is on disk: makes it all that counts, and removes what was there before it.
Result<void> complete_repair(FileSystem& files, const std::string& directory, std::uint64_t number);

}  // namespace mete::journal
