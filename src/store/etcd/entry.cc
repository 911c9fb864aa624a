#include "store/etcd/entry.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/names.h"
#include "engine/records/change_codec.h"
#include "wire/text.h"
#include "wire/uri.h"

namespace mete::store::etcd {

namespace {

constexpr std::size_t kHashDigits = 16;
constexpr std::uint64_t kHashSeed = 0;  // the same for all who use this etcd

constexpr Space kSpaces[] = {Space::kClock, Space::kNumbers,   Space::kLimit, Space::kOverride,
                             Space::kMeter, Space::kOperation, Space::kTag,   Space::kKey};

std::string_view folder_of(Space space) {
  return base::name_of("clock|numbers|limits/|overrides/|meters/|ids/|tags/|keys/", space);
}

bool has_group(Space space) { return space == Space::kMeter || space == Space::kOverride || space == Space::kTag; }
bool has_hash(Space space) { return space == Space::kMeter || space == Space::kOverride || space == Space::kKey; }

std::string hexadecimal(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kHashDigits, '0');
  for (std::size_t i = 0; i < kHashDigits; ++i) text[i] = kDigits[number >> (4 * (kHashDigits - 1 - i)) & 0xfU];
  return text;
}

int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

std::string unescape(std::string_view escaped) {
  std::string name;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool is_escape = escaped[i] == '%' && i + 2 < escaped.size();
    const int high = is_escape ? value_of(escaped[i + 1]) : -1;
    const int low = is_escape ? value_of(escaped[i + 2]) : -1;
    if (high < 0 || low < 0) {
      name.push_back(escaped[i]);
      continue;
    }
    name.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return name;
}

// Takes off what stands in front of the next '/'.
std::string_view next_piece(std::string_view& rest) {
  const std::size_t slash = rest.find('/');
  const std::string_view piece = rest.substr(0, slash);
  rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  return piece;
}

constexpr std::uint8_t kVersion = 1;

Error bad_record(std::string_view key, const std::string& why) {
  return base::invalid("etcd's key " + wire::quote(key) + " " + why);
}

}  // namespace

std::string key_of(std::string_view prefix, const EntryName& entry) {
  std::string key(prefix);
  key += folder_of(entry.space);
  if (has_group(entry.space)) key += wire::percent_encode(entry.group) + "/";
  if (has_hash(entry.space)) key += hexadecimal(base::hash_bytes(entry.name, kHashSeed)) + "/";
  return key + wire::percent_encode(entry.name);
}

KeyRange range_of(std::string_view prefix, Space space, std::string_view group) {
  KeyRange range = {.begin = std::string(prefix) + std::string(folder_of(space)), .end = {}};
  if (!group.empty()) range.begin += wire::percent_encode(group) + "/";
  CHECK(range.begin.back() == '/');
  range.end = range.begin;
  ++range.end.back();
  return range;
}

std::string position_of(const KeyRange& range, std::uint64_t hash) { return range.begin + hexadecimal(hash); }

std::uint64_t hash_in(const KeyRange& range, std::string_view key) {
  std::uint64_t hash = 0;
  const std::string_view digits = key.substr(std::min(range.begin.size(), key.size()), kHashDigits);
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return hash;
}

std::optional<EntryName> entry_in(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  for (const Space space : kSpaces) {
    const std::string_view folder = folder_of(space);
    if (!key.starts_with(folder)) continue;
    if (!folder.ends_with('/')) return key == folder ? std::optional(EntryName{space}) : std::nullopt;
    key.remove_prefix(folder.size());
    EntryName entry{space};
    if (has_group(space)) entry.group = unescape(next_piece(key));
    if (has_hash(space)) next_piece(key);
    entry.name = unescape(key);
    return entry;
  }
  return std::nullopt;
}

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
    return bad_record(key, "is of version " + std::to_string(version) + ", which is newer than this Mete");
  }
  Record record;
  record.written_at = decoder.instant();
  record.revision = decoder.varint();
  if (!decoder.is_whole()) return bad_record(key, "has a value that Mete has not written");
  record.changes = value.substr(value.size() - decoder.left());
  return record;
}

}  // namespace mete::store::etcd
