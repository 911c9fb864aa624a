// A data directory made of a fuzzer's bytes: one file of them, beside whatever else makes it complete.
//
// A checksum keeps a fuzzer out, so the first byte of the input may ask for right ones: then the lengths, types and
// bodies that it makes up are met with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "journal/crc32c.h"
#include "journal/format.h"
#include "journal/record.h"
#include "journal/recovery.h"
#include "journal/salvage.h"
#include "support/simulated_disk.h"

namespace mete::journal {

inline constexpr std::uint64_t kFuzzSeed = 42;
inline const std::string kFuzzDirectory = "/data";

// The input's first byte.
enum FuzzFlag : std::uint8_t {
  kWithHeader = 1,     // a header stands before the rest
  kWithChecksums = 2,  // records that have room get the right checksum
};

inline std::string file_of(std::string_view input, FileKind kind) {
  if (input.empty()) return "";
  const auto flags = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  std::string file;
  if ((flags & kWithHeader) != 0) {
    file =
        view_of(encode(FileHeader{.kind = kind, .number = 1, .seed = kFuzzSeed, .created = {}, .previous_length = 0}));
  }
  file.append(input);
  if ((flags & kWithChecksums) == 0) return file;
  std::array<char, sizeof kFuzzSeed> seed{};
  base::store(seed.data(), kFuzzSeed);
  const std::uint32_t salt = crc32c(view_of(seed));
  std::size_t at = kFileHeaderBytes;
  while (at + kRecordHeaderBytes < file.size()) {
    const std::size_t length = base::load<std::uint32_t>(file.data() + at + 4);
    if (length == 0 || length > kBodyBytesMax || length > file.size() - at - kRecordHeaderBytes) break;
    const std::size_t checked = kRecordHeaderBytes - 4 + length;
    base::store(file.data() + at, crc32c({file.data() + at + 4, checked}, salt));
    at += 4 + checked;
  }
  return file;
}

struct FuzzOutcome {
  bool is_good = false;
  bool is_cut = false;
  std::vector<std::string> bodies;
};

inline FuzzOutcome recover_all(FileSystem& files, RecoveryMode mode) {
  FuzzOutcome outcome;
  const auto recovered = recover(files, {.directory = kFuzzDirectory,
                                         .mode = mode,
                                         .on_record = [&outcome](std::string_view body, const RecordPosition&) {
                                           outcome.bodies.emplace_back(body);
                                           return Result<void>();
                                         }});
  outcome.is_good = recovered.has_value();
  if (recovered) outcome.is_cut = recovered->cut.has_value();
  if (!recovered) CHECK(recovered.error().message.starts_with(kFuzzDirectory));
  return outcome;
}

// Looking and starting agree, a second start finds what the first one did, and salvaging finds all of that.
inline void check_directory(support::SimulatedDisk& disk) {
  const FuzzOutcome looked = recover_all(disk, RecoveryMode::kLookOnly);
  std::vector<std::string> salvaged;
  const auto saved = salvage(disk, {.directory = kFuzzDirectory,
                                    .on_record =
                                        [&salvaged](std::string_view body, const RecordPosition&) {
                                          salvaged.emplace_back(body);
                                          return Result<void>();
                                        },
                                    .on_damage = [](const DamagedRange& range) { CHECK(range.from <= range.to); }});
  const FuzzOutcome started = recover_all(disk, RecoveryMode::kStart);
  CHECK(looked.is_good == started.is_good && looked.bodies == started.bodies);
  if (!started.is_good) return;
  const FuzzOutcome again = recover_all(disk, RecoveryMode::kStart);
  CHECK(again.is_good && !again.is_cut && again.bodies == started.bodies);
  if (!started.bodies.empty()) CHECK(saved && salvaged.size() >= started.bodies.size());
  if (!started.is_cut && saved) CHECK(salvaged == started.bodies);
}

}  // namespace mete::journal
