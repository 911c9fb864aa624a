// DataLoader: makes an engine of the records of a data directory, and counts them.
//
// Ownership: owns the engine until it is taken. Thread safety: one thread at a time.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/engine.h"
#include "journal/recovery.h"

namespace mete::store {

// Makes the changes of a record. The error says where it is, and what to do.
Result<void> restore_record(engine::Engine& engine, const std::string& directory, std::string_view body,
                            const journal::RecordPosition& place);

// How many changes of each kind there are.
struct ChangeCounts {
  std::uint64_t meters = 0;
  std::uint64_t operations = 0;
  std::uint64_t overrides = 0;
  std::uint64_t keys = 0;
  std::uint64_t limits = 0;
  std::uint64_t drops = 0;
  std::uint64_t clears = 0;
};

class DataLoader {
 public:
  explicit DataLoader(std::string directory) : directory_(std::move(directory)) {}

  // From nothing, whatever it was given before.
  void begin(std::uint64_t seed);
  Result<void> add(std::string_view body, const journal::RecordPosition& place);

  // Null before begin().
  [[nodiscard]] std::unique_ptr<engine::Engine> take_engine() { return std::move(engine_); }
  [[nodiscard]] const ChangeCounts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t records_of(const std::string& file) const;
  // Changes that could not be made, since no record has the limit that they are of.
  [[nodiscard]] std::uint64_t changes_without_limit() const;

 private:
  class Counter;

  const std::string directory_;
  std::unique_ptr<engine::Engine> engine_;
  ChangeCounts counts_;
  std::map<std::string, std::uint64_t, std::less<>> records_;  // by file
  // By the generations of limits: changes so far, and whether there is such a limit, or was until it was dropped.
  struct OfLimit {
    std::uint64_t changes = 0;
    bool is_known = false;
  };
  std::unordered_map<std::uint64_t, OfLimit> of_limits_;
};

}  // namespace mete::store
