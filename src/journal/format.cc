#include "journal/format.h"

#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"
#include "journal/crc32c.h"

namespace mete::journal {

namespace {

constexpr std::size_t kMagicBytes = 8;
constexpr std::string_view kSegmentMagic = "METEJRNL";
constexpr std::string_view kSnapshotMagic = "METESNAP";
constexpr std::string_view kWatermarkMagic = "METEMARK";

// A header and a slot begin alike: magic, format version, then the checksum of all their bytes but its own.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kChecksumAt = 12;
constexpr std::size_t kContentAt = 16;

std::uint32_t checksum_of(std::string_view bytes) {
  return crc32c(bytes.substr(kContentAt), crc32c(bytes.substr(0, kChecksumAt)));
}

template <std::size_t kSize>
void seal(std::array<char, kSize>& bytes, std::string_view magic) {
  std::memcpy(bytes.data(), magic.data(), kMagicBytes);
  base::store(bytes.data() + kVersionAt, kFormatVersion);
  base::store(bytes.data() + kChecksumAt, checksum_of(view_of(bytes)));
}

bool has_right_checksum(std::string_view bytes) {
  return base::load<std::uint32_t>(bytes.data() + kChecksumAt) == checksum_of(bytes);
}

std::uint64_t number_at(std::string_view bytes, std::size_t offset) {
  return base::load<std::uint64_t>(bytes.data() + offset);
}

std::array<char, 16> encode_pair(std::uint64_t first, std::uint64_t second) {
  std::array<char, 16> bytes{};
  base::store(bytes.data(), first);
  base::store(bytes.data() + 8, second);
  return bytes;
}

std::string_view magic_of(FileKind kind) { return kind == FileKind::kSegment ? kSegmentMagic : kSnapshotMagic; }

}  // namespace

std::array<char, kFileHeaderBytes> encode(const FileHeader& header) {
  std::array<char, kFileHeaderBytes> bytes{};
  base::store(bytes.data() + kContentAt, header.number);
  base::store(bytes.data() + kContentAt + 8, header.seed);
  base::store(bytes.data() + kContentAt + 16, header.created.ns());
  base::store(bytes.data() + kContentAt + 24, header.previous_length);
  seal(bytes, magic_of(header.kind));
  return bytes;
}

ParsedHeader parse_header(std::string_view bytes, FileKind kind) {
  using Kind = ParsedHeader::Kind;
  if (bytes.size() < kFileHeaderBytes) return {Kind::kBroken, {}, "the file ends within its header"};
  bytes = bytes.substr(0, kFileHeaderBytes);
  if (bytes.substr(0, kMagicBytes) != magic_of(kind)) {
    return {Kind::kBroken, {}, kind == FileKind::kSegment ? "this is no segment" : "this is no snapshot"};
  }
  if (!has_right_checksum(bytes)) return {Kind::kBroken, {}, "the checksum of the header is wrong"};
  const auto version = base::load<std::uint32_t>(bytes.data() + kVersionAt);
  if (version != kFormatVersion) {
    return {Kind::kUnknown,
            {},
            "the file is of format version " + std::to_string(version) + ", and this program reads version " +
                std::to_string(kFormatVersion)};
  }
  return {Kind::kHeader,
          {.kind = kind,
           .number = number_at(bytes, kContentAt),
           .seed = number_at(bytes, kContentAt + 8),
           .created = Instant::from_ns(number_at(bytes, kContentAt + 16)),
           .previous_length = number_at(bytes, kContentAt + 24)},
          ""};
}

std::array<char, kMarkBodyBytes> encode(const Mark& mark) { return encode_pair(mark.synced_through, mark.time.ns()); }

std::optional<Mark> parse_mark(std::string_view body) {
  if (body.size() != kMarkBodyBytes) return std::nullopt;
  return Mark{number_at(body, 0), Instant::from_ns(number_at(body, 8))};
}

std::array<char, kEndBodyBytes> encode(const End& end) { return encode_pair(end.records, end.bytes); }

std::optional<End> parse_end(std::string_view body) {
  if (body.size() != kEndBodyBytes) return std::nullopt;
  return End{number_at(body, 0), number_at(body, 8)};
}

std::array<char, kSlotBytes> encode_slot(const Position& position) {
  std::array<char, kSlotBytes> bytes{};
  base::store(bytes.data() + kContentAt, position.segment);
  base::store(bytes.data() + kContentAt + 8, position.offset);
  seal(bytes, kWatermarkMagic);
  return bytes;
}

std::optional<Position> parse_slot(std::string_view bytes) {
  if (bytes.size() < kSlotBytes) return std::nullopt;
  bytes = bytes.substr(0, kSlotBytes);
  if (bytes.substr(0, kMagicBytes) != kWatermarkMagic || !has_right_checksum(bytes) ||
      base::load<std::uint32_t>(bytes.data() + kVersionAt) != kFormatVersion) {
    return std::nullopt;
  }
  return Position{number_at(bytes, kContentAt), number_at(bytes, kContentAt + 8)};
}

Error damage(const DamagedPlace& place, std::string_view problem) {
  const std::string directory(place.directory);
  return base::unavailable(directory + "/" + std::string(place.file) + " is damaged at byte " +
                           std::to_string(place.offset) + ": " + std::string(problem) +
                           "; restore a backup, or save what can be read with 'mete repair " + directory + "'");
}

}  // namespace mete::journal
