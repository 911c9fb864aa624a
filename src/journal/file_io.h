// Whole reads and writes on a File, which by itself does as much as it likes at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "journal/file_system.h"

namespace mete::journal {

Result<void> write_all(File& file, std::uint64_t offset, std::string_view bytes);

// Fills `to`, or as much of it as the file has; returns how much that was.
[[nodiscard]] Result<std::size_t> read_all(File& file, std::uint64_t offset, std::span<char> to);

}  // namespace mete::journal
