// Entries: what the keys of etcd are for, and their values. Pure.
//
//     PREFIX limits/LIMIT                  a limit's revisions
//     PREFIX meters/LIMIT/HASH/KEY         a meter with the parts held of it
//     PREFIX overrides/LIMIT/HASH/KEY      a key's own amount
//     PREFIX ids/ID                        an operation with an id, or a hold
//     PREFIX tags/TAG/ID                   an open hold, once more, to be found by its tag
//     PREFIX keys/HASH/KEY                 a counter, quota or throttle
//     PREFIX numbers                       what the next limit is numbered
//     PREFIX clock                         how late it is at least
//
// Names are escaped as in URLs. HASH is the XXH3 of the key in 16 hexadecimal digits: whoever goes through all meters
// of a limit can say where he is by one number.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mete::store::etcd {

// In the order in which they are restored, but for meters, which come in between the revisions of their limit.
enum class Space : std::uint8_t { kClock, kNumbers, kLimit, kOverride, kMeter, kOperation, kTag, kKey };

struct EntryName {
  Space space = Space::kClock;
  std::string group = {};  // of a meter and an override: the limit; of a tagged hold: the tag
  std::string name = {};   // of the limit, of the key; the id

  auto operator<=>(const EntryName&) const = default;
};

std::string key_of(std::string_view prefix, const EntryName& entry);

// All keys of a space; of one limit or tag, where there is a group.
struct KeyRange {
  std::string begin;
  std::string end;
};
KeyRange range_of(std::string_view prefix, Space space, std::string_view group = {});

// Where the keys of a space stand that have this hash or a greater one.
std::string position_of(const KeyRange& range, std::uint64_t hash);
// The hash in a key of the range.
std::uint64_t hash_in(const KeyRange& range, std::string_view key);
// What a key is for; none if it is not one of these.
std::optional<EntryName> entry_in(std::string_view prefix, std::string_view key);

// Record: the value of an entry.
//
//     u8 version · instant written_at · varint revision · changes        docs/formats/etcd.md, docs/formats/changes.md
//
// The changes make the entry from nothing. `revision` counts how often the rule of a limit has changed: a meter says
// under which it is, and a limit which is the first of those that it lists.
struct Record {
  Instant written_at = {};
  std::uint64_t revision = 0;
  std::string_view changes = {};  // as engine/change.h has them
};

std::string encode(const Record& record);
// Views into the value. `key` is for the error.
Result<Record> decode_record(std::string_view value, std::string_view key);

}  // namespace mete::store::etcd
