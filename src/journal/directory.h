// Directory: the names of a data directory.
//
//     lock                  keeps other processes out
//     snapshot-0000000007   the state at the start of segment 7, or newer
//     segment-0000000007    the journal from then on; numbers without gaps, and none is used twice
//     watermark             how far the journal is known to be synced
//     *.tmp                 unfinished
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file_system.h"

namespace mete::journal {

inline constexpr std::string_view kWatermarkName = "watermark";

std::string segment_name(std::uint64_t number);
std::string snapshot_name(std::uint64_t number);

// What is there, in ascending order. Files of other names are nobody's business.
struct Directory {
  std::vector<std::uint64_t> snapshots;
  std::vector<std::uint64_t> segments;
  std::vector<std::string> temporary;
  bool has_watermark = false;
};

Result<Directory> read_directory(FileSystem& files, const std::string& directory);

// A file that is to be `name` when it is complete: made as NAME.tmp, in place of what an earlier attempt left there…
Result<std::unique_ptr<File>> create_temporary(FileSystem& files, const std::string& directory, std::string_view name);
// …and, once it is synced, given its name for good.
Result<void> publish_temporary(FileSystem& files, const std::string& directory, std::string_view name);
Result<void> remove_temporary(FileSystem& files, const std::string& directory, std::string_view name);

// Removes the snapshots and segments of lower numbers, which snapshot `number` has made unnecessary.
Result<void> remove_before(FileSystem& files, const std::string& directory, std::uint64_t number);

}  // namespace mete::journal
