#include "journal/record.h"

namespace mete::journal {

ParsedRecord Framing::parse(std::string_view bytes) const {
  using Kind = ParsedRecord::Kind;
  const auto problem = [](Kind kind, const char* text) { return ParsedRecord{kind, {}, text}; };
  if (bytes.size() < kRecordHeaderBytes) return problem(Kind::kIncomplete, "the file ends within a record");
  const std::size_t length = base::load<std::uint32_t>(bytes.data() + 4);
  if (length == 0) return problem(Kind::kBroken, "there is no record");
  if (length > kBodyBytesMax) return problem(Kind::kBroken, "the length of the record is out of range");
  if (bytes.size() < kRecordHeaderBytes + length) return problem(Kind::kIncomplete, "the file ends within a record");
  const std::string_view checked = bytes.substr(4, kRecordHeaderBytes - 4 + length);
  if (base::load<std::uint32_t>(bytes.data()) != crc32c(checked, salt_)) {
    return problem(Kind::kBroken, "the checksum of the record is wrong");
  }
  // The checksum is right: what is not known here was written so, by a program that knows it.
  const auto type = static_cast<RecordType>(bytes[8]);
  if (type < RecordType::kChanges || type > RecordType::kEnd) {
    return problem(Kind::kUnknown, "the record is of a type that only a newer version knows");
  }
  if (static_cast<std::uint8_t>(bytes[9]) != kRecordVersion) {
    return problem(Kind::kUnknown, "the record is of a version that only a newer program knows");
  }
  return {Kind::kRecord, {type, bytes.substr(kRecordHeaderBytes, length)}, ""};
}

}  // namespace mete::journal
