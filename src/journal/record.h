// Records: what segments and snapshots are made of.
//
//     u32 checksum of all that follows · u32 length of the body (1 to kBodyBytesMax) · u8 type · u8 version · body
//
// The checksum goes on from one of the store's seed, which nobody outside knows. So bytes that a client chose, in a key
// for instance, are never taken for a record where a damaged file is searched for the next one.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/output.h"
#include "journal/crc32c.h"

namespace mete::journal {

inline constexpr std::size_t kRecordHeaderBytes = 10;
inline constexpr std::size_t kBodyBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kRecordBytesMax = kRecordHeaderBytes + kBodyBytesMax;
inline constexpr std::uint8_t kRecordVersion = 1;

enum class RecordType : std::uint8_t {
  kChanges = 1,  // the engine's; its body means nothing here
  kMark = 2,     // how far a segment is synced, and what time it is: Mark of journal/format.h
  kEnd = 3,      // of a snapshot: End of journal/format.h
};

struct Record {
  RecordType type = RecordType::kChanges;
  std::string_view body;

  [[nodiscard]] std::size_t bytes() const { return kRecordHeaderBytes + body.size(); }
};

// What the bytes at some place are.
struct ParsedRecord {
  enum class Kind : std::uint8_t {
    kRecord,
    kIncomplete,  // they end within a record
    kBroken,      // no record, or one that has suffered
    kUnknown,     // whole, but not for this version of the program
  };

  Kind kind = Kind::kBroken;
  Record record;
  const char* problem = "";  // unless it is a record
};

class Framing {
 public:
  explicit Framing(std::uint64_t seed) {
    std::array<char, sizeof seed> bytes{};
    base::store(bytes.data(), seed);
    salt_ = crc32c({bytes.data(), bytes.size()});
  }

  // Writes a record's header, which stands before the body: kRecordHeaderBytes.
  void write_header(char* at, const Record& record) const {
    CHECK(!record.body.empty() && record.body.size() <= kBodyBytesMax);
    base::store(at + 4, static_cast<std::uint32_t>(record.body.size()));
    at[8] = static_cast<char>(record.type);
    at[9] = static_cast<char>(kRecordVersion);
    base::store(at, crc32c(record.body, crc32c({at + 4, kRecordHeaderBytes - 4}, salt_)));
  }

  void append(base::Output& to, const Record& record) const {
    char* const at = to.reserve(record.bytes());
    write_header(at, record);
    std::memcpy(at + kRecordHeaderBytes, record.body.data(), record.body.size());
    to.advance_to(at + record.bytes());
  }

  // The record that the bytes begin with; its body is a view into them.
  [[nodiscard]] ParsedRecord parse(std::string_view bytes) const;

 private:
  std::uint32_t salt_ = 0;
};

}  // namespace mete::journal
