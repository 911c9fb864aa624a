// Record: the value of a key in etcd.
//
//     u8 version · instant written_at · varint revision · changes        docs/formats/etcd.md, docs/formats/changes.md
//
// The changes make the entry from nothing. `revision` counts how often the rule of a limit has changed: a meter says
// under which it is, and a limit which is the first of those that it lists. Pure.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mete::store::etcd {

struct Record {
  Instant written_at = {};
  std::uint64_t revision = 0;
  std::string_view changes = {};  // as engine/change.h has them
};

std::string encode(const Record& record);
// Views into the value. `key` is for the error.
Result<Record> decode_record(std::string_view value, std::string_view key);

}  // namespace mete::store::etcd
