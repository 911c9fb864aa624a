#include "wire/protobuf.h"

namespace mete::wire {

namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kBytes = 2;
constexpr std::uint32_t kFixed32 = 5;
constexpr int kTypeBits = 3;
constexpr std::uint64_t kFieldMax = (1U << 29) - 1;

}  // namespace

ProtobufWriter& ProtobufWriter::number(std::uint32_t field, std::uint64_t value) {
  return value == 0 ? *this : chosen_number(field, value);
}

ProtobufWriter& ProtobufWriter::chosen_number(std::uint32_t field, std::uint64_t value) {
  tag(field, kVarint);
  varint(value);
  return *this;
}

ProtobufWriter& ProtobufWriter::bytes(std::uint32_t field, std::string_view value) {
  return value.empty() ? *this : message(field, value);
}

ProtobufWriter& ProtobufWriter::message(std::uint32_t field, std::string_view value) {
  tag(field, kBytes);
  varint(value.size());
  text_ += value;
  return *this;
}

void ProtobufWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
  text_.push_back(static_cast<char>(value));
}

void ProtobufWriter::tag(std::uint32_t field, std::uint32_t type) { varint(std::uint64_t{field} << kTypeBits | type); }

bool ProtobufReader::next() {
  number_ = 0;
  bytes_ = {};
  if (rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  const std::uint64_t field = tag >> kTypeBits;
  if (field == 0 || field > kFieldMax) return fail();
  field_ = static_cast<std::uint32_t>(field);
  const auto type = static_cast<std::uint32_t>(tag & ((1U << kTypeBits) - 1));
  is_number_ = type == kVarint;
  is_bytes_ = type == kBytes;
  std::string_view skipped;
  switch (type) {
    case kVarint:
      return varint(number_);
    case kBytes: {
      std::uint64_t size = 0;
      return varint(size) && take(size, bytes_);
    }
    case kFixed64:
      return take(8, skipped);
    case kFixed32:
      return take(4, skipped);
    default:
      return fail();
  }
}

bool ProtobufReader::fail() {
  is_whole_ = false;
  rest_ = {};
  return false;
}

bool ProtobufReader::varint(std::uint64_t& value) {
  std::uint64_t read = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto part = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    read |= std::uint64_t{part & 0x7fU} << shift;
    if (part >= 0x80) continue;
    value = read;
    return true;
  }
  return fail();
}

bool ProtobufReader::take(std::uint64_t size, std::string_view& taken) {
  if (size > rest_.size()) return fail();
  taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

}  // namespace mete::wire
