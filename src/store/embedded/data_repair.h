// Repairing a damaged data directory: what is provably whole is kept, and what cannot stand alone is taken away.
//
//     auto repair = DataRepair::prepare(files, directory);     // reads all of it, and changes nothing
//     … repair->findings() …
//     repair->carry_out(now);                                   // a new snapshot; the old files are kept
//
// It is for those who have no backup: what was in the damaged places is lost, and what came after it may rest on that.
// Thread safety: one thread at a time.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "journal/file_system.h"
#include "journal/salvage.h"
#include "store/embedded/data_clock.h"

namespace mete::store {

// Everything that can still be read, whatever lies between.
struct SalvagedData {
  std::unique_ptr<engine::Engine> engine;
  journal::Salvaged salvaged;
  std::vector<journal::DamagedRange> damage;
  std::uint64_t changes_without_limit = 0;  // that could not be made
};
Result<SalvagedData> salvage_data(journal::FileSystem& files, const std::string& directory);

struct RepairFindings {
  std::vector<journal::DamagedRange> damage;
  std::uint64_t changes_without_limit = 0;
  std::vector<std::string> mended;  // what is done about the rest, in sentences without a full stop
  std::uint64_t records = 0;        // that are whole
  engine::Audit audit;              // of what is left
  Instant as_of;

  [[nodiscard]] bool is_healthy() const { return damage.empty() && mended.empty(); }
};

class DataRepair {
 public:
  // An error: there is no data, a server uses it, or nothing of it can be read.
  static Result<std::unique_ptr<DataRepair>> prepare(journal::FileSystem& files, const std::string& directory);

  [[nodiscard]] const RepairFindings& findings() const { return findings_; }

  // The time that the data goes on from; if that is after `now`, the engine is brought back to it (data_clock.h), and
  // carry_out() writes that.
  [[nodiscard]] Result<Instant> latest_time();
  Result<TurnedBack> bring_back_to(Instant now);

  // Writes what is left as a new snapshot, and returns the folder that the old files were moved to. Interrupted, it
  // leaves a directory that can be repaired again.
  Result<std::string> carry_out(Instant now);

 private:
  DataRepair(journal::FileSystem& files, std::string directory) : files_(files), directory_(std::move(directory)) {}

  [[nodiscard]] Result<bool> is_healthy() const;
  Result<void> salvage();
  Result<void> write_snapshot(Instant now);
  Result<void> move_old_files(const std::string& folder);

  journal::FileSystem& files_;
  const std::string directory_;
  std::unique_ptr<journal::DirectoryLock> lock_;
  SalvagedData data_;
  RepairFindings findings_;
  bool is_turned_back_ = false;
};

}  // namespace mete::store
