#include "journal/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace mete::journal {
namespace {

std::string repeated(char first, int step, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(first + static_cast<int>(i) * step));
  return text;
}

TEST(Crc32c, GivesThePublishedValues) {
  const struct {
    std::string bytes;
    std::uint32_t crc;
  } rows[] = {
      {"", 0},
      {"123456789", 0xe3069283},  // the check value of the polynomial
      // RFC 3720, B.4
      {std::string(32, '\0'), 0x8a9136aa},
      {std::string(32, '\xff'), 0x62a8ab43},
      {repeated(0, 1, 32), 0x46dd794e},
      {repeated(31, -1, 32), 0x113fdb5c},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(crc32c(row.bytes), row.crc) << row.bytes.size();
    EXPECT_EQ(crc32c_portable(row.bytes), row.crc) << row.bytes.size();
  }
}

TEST(Crc32c, IsTheSameByTablesAndInPieces) {
  std::mt19937_64 random(1);
  std::string bytes(300, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; start + size <= bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(start, size);
      const std::uint32_t whole = crc32c(part);
      ASSERT_EQ(whole, crc32c_portable(part)) << start << " " << size;
      const std::size_t cut = size == 0 ? 0 : random() % size;
      ASSERT_EQ(whole, crc32c(part.substr(cut), crc32c(part.substr(0, cut)))) << start << " " << size << " " << cut;
    }
  }
}

}  // namespace
}  // namespace mete::journal
