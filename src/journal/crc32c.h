// CRC32C (Castagnoli): the checksum of everything that is on disk. By the processor's own instruction where it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace mete::journal {

// Of the bytes, going on from the checksum of those before them (0: there are none).
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The same by tables, on any processor.
[[nodiscard]] std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before = 0);

}  // namespace mete::journal
