// load_zone: a time zone by its IANA name, from the files that the operating system keeps (the package tzdata).
//
// The only I/O of this module. A file is read at each call: limits are defined rarely. Thread safety: from any thread.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

#include "calendar/zone.h"

namespace mete::civil {

inline constexpr const char* kZoneFolder = "/usr/share/zoneinfo";
inline constexpr std::size_t kZoneNameBytesMax = 64;
inline constexpr std::size_t kZoneFileBytesMax = 65'536;

// Any name may be given; only names that cannot leave the folder are looked up. "UTC" needs no file.
Result<std::shared_ptr<const Zone>> load_zone(std::string_view name, const std::filesystem::path& folder = kZoneFolder);

}  // namespace mete::civil
