#include "journal/crc32c.h"

#include <array>
#include <bit>

#include "base/bytes.h"

namespace mete::journal {

namespace {

static_assert(std::endian::native == std::endian::little);  // as are all formats on disk

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed
constexpr std::size_t kWordBytes = 8;

// tables[k][b] is the remainder of the byte b with k zero bytes behind it: eight bytes are then eight look-ups that do
// not wait for each other.
using Tables = std::array<std::array<std::uint32_t, 256>, kWordBytes>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = remainder;
  }
  for (std::size_t zeros = 1; zeros < kWordBytes; ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[zeros - 1][byte];
      tables[zeros][byte] = shorter >> 8 ^ tables[0][shorter & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t crc32c_hardware(std::string_view bytes, std::uint32_t before) {
  const char* at = bytes.data();
  std::size_t rest = bytes.size();
  std::uint64_t wide = ~before;
  for (; rest >= 8; at += 8, rest -= 8) wide = __builtin_ia32_crc32di(wide, base::load<std::uint64_t>(at));
  auto crc = static_cast<std::uint32_t>(wide);
  if (rest >= 4) {
    crc = __builtin_ia32_crc32si(crc, base::load<std::uint32_t>(at));
    at += 4;
    rest -= 4;
  }
  for (; rest > 0; ++at, --rest) crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(*at));
  return ~crc;
}

bool has_instruction() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
}

// Whoever asks before this is initialized gets the same answer from the tables.
const bool kHasInstruction = has_instruction();

#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before) {
  const char* at = bytes.data();
  std::size_t rest = bytes.size();
  std::uint32_t crc = ~before;
  for (; rest >= kWordBytes; at += kWordBytes, rest -= kWordBytes) {
    const std::uint64_t word = base::load<std::uint64_t>(at) ^ crc;
    crc = 0;
    for (std::size_t byte = 0; byte < kWordBytes; ++byte) {
      crc ^= kTables[kWordBytes - 1 - byte][word >> 8 * byte & 0xff];
    }
  }
  for (; rest > 0; ++at, --rest) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (kHasInstruction) return crc32c_hardware(bytes, before);
#endif
  return crc32c_portable(bytes, before);
}

}  // namespace mete::journal
