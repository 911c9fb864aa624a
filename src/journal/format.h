// What stands in the files of a data directory beside the engine's records. docs/formats/journal.md draws it all.
//
// All integers are little endian. Thread safety: values.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mete::journal {

inline constexpr std::uint32_t kFormatVersion = 1;

enum class FileKind : std::uint8_t { kSegment, kSnapshot };

// What each segment and snapshot begins with.
struct FileHeader {
  FileKind kind = FileKind::kSegment;
  std::uint64_t number = 0;
  std::uint64_t seed = 0;  // the store's: files of different stores do not mix
  Instant created;
  std::uint64_t previous_length = 0;  // of a segment: the length of the one before it

  bool operator==(const FileHeader&) const = default;
};
inline constexpr std::size_t kFileHeaderBytes = 48;

std::array<char, kFileHeaderBytes> encode(const FileHeader& header);

struct ParsedHeader {
  enum class Kind : std::uint8_t {
    kHeader,
    kBroken,
    kUnknown,  // of another format version
  };
  Kind kind = Kind::kBroken;
  FileHeader header;
  std::string problem;  // unless it is a header
};
// Of the file's first bytes, however few.
ParsedHeader parse_header(std::string_view bytes, FileKind kind);

// A place in the journal: `offset` bytes of that segment, and all segments before it.
struct Position {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;

  auto operator<=>(const Position&) const = default;
};

// The body of a kMark record.
struct Mark {
  std::uint64_t synced_through = 0;  // the offset in this segment up to which it was synced when this was written
  Instant time;                      // no record before this one is of a later time
};
inline constexpr std::size_t kMarkBodyBytes = 16;
std::array<char, kMarkBodyBytes> encode(const Mark& mark);
std::optional<Mark> parse_mark(std::string_view body);

// The body of the kEnd record: what stands between the snapshot's header and it.
struct End {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;

  bool operator==(const End&) const = default;
};
inline constexpr std::size_t kEndBodyBytes = 16;
std::array<char, kEndBodyBytes> encode(const End& end);
std::optional<End> parse_end(std::string_view body);

// A slot of the watermark file.
inline constexpr std::size_t kSlotBytes = 32;
std::array<char, kSlotBytes> encode_slot(const Position& position);
std::optional<Position> parse_slot(std::string_view bytes);

template <std::size_t kSize>
std::string_view view_of(const std::array<char, kSize>& bytes) {
  return {bytes.data(), bytes.size()};
}

// The error for a file that is not what was written. What to do stands in it.
struct DamagedPlace {
  std::string_view directory;
  std::string_view file;
  std::uint64_t offset = 0;
};
Error damage(const DamagedPlace& place, std::string_view problem);

}  // namespace mete::journal
