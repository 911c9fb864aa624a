#include "store/etcd/record.h"

#include "engine/change_codec.h"
#include "wire/text.h"

namespace mete::store::etcd {

namespace {

constexpr std::uint8_t kVersion = 1;

Error unreadable(std::string_view key, const std::string& why) {
  return {ErrorCode::kInvalid, "etcd's key " + wire::quote(key) + " " + why};
}

}  // namespace

std::string encode(const Record& record) {
  engine::Encoder encoder;
  encoder.byte(kVersion);
  encoder.instant(record.written_at);
  encoder.varint(record.revision);
  std::string value(encoder.view());
  value += record.changes;
  return value;
}

Result<Record> decode_record(std::string_view value, std::string_view key) {
  engine::Decoder decoder(value);
  const std::uint8_t version = decoder.byte();
  if (version != kVersion && !value.empty()) {
    return tl::unexpected(
        unreadable(key, "is of version " + std::to_string(version) + ", which is newer than this Mete"));
  }
  Record record;
  record.written_at = decoder.instant();
  record.revision = decoder.varint();
  if (!decoder.is_whole()) return tl::unexpected(unreadable(key, "has a value that Mete has not written"));
  record.changes = value.substr(value.size() - decoder.left());
  return record;
}

}  // namespace mete::store::etcd
