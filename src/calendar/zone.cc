// The layout of a TZif file; numbers are big-endian.
//
//     header 1 | block 1 | header 2 | block 2 | '\n' rule '\n'
//
//     header   "TZif", version (1 byte), 15 bytes unused, six counts (4 bytes each):
//              isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt
//
//     block    timecnt x time      4 bytes in block 1, 8 in block 2: Unix seconds, ascending
//              timecnt x index     1 byte: the type from that time on
//              typecnt x type      offset (4 bytes, seconds east of UTC), is daylight saving (1), name (1)
//              charcnt x char      names
//              leapcnt x leap      time as above, and 4 bytes
//              isstdcnt x flag     1 byte
//              isutcnt x flag      1 byte
//
// Block 1 is there for readers of 32-bit times, and is skipped. Type 0 holds before the first time, and the rule from
// the last one on.
#include "calendar/zone.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::civil {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::string_view kMagic = "TZif";
constexpr std::size_t kHeaderBytes = 44;
constexpr std::size_t kUnusedBytes = 15;
constexpr std::size_t kTypeBytes = 6;
constexpr std::size_t kTime1Bytes = 4;
constexpr std::size_t kTime2Bytes = 8;

// Enough for what std::chrono's years can tell, with room to step from one stretch to the next.
constexpr sys_seconds kReachMax{seconds(std::int64_t{1} << 38)};
constexpr sys_seconds kReachMin{-seconds(std::int64_t{1} << 38)};

Error damaged(std::string_view reason) { return base::invalid(std::string(reason)); }

std::uint64_t to_number(std::string_view big_endian) {
  CHECK(big_endian.size() <= sizeof(std::uint64_t));
  std::uint64_t number = 0;
  for (const char byte : big_endian) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

seconds to_time(std::string_view bytes) { return seconds(static_cast<std::int64_t>(to_number(bytes))); }

seconds to_offset(std::string_view bytes) {
  return seconds(static_cast<std::int32_t>(static_cast<std::uint32_t>(to_number(bytes))));
}

// Callers make sure that the bytes are there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] std::string_view left() const { return left_; }

  std::string_view take(std::size_t bytes) {
    CHECK(bytes <= left_.size());
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

 private:
  std::string_view left_;
};

struct Header {
  char version;
  std::uint64_t ut_flags, standard_flags, leaps, times, types, chars;

  // Cannot overflow: every count has 32 bits.
  [[nodiscard]] std::uint64_t block_bytes(std::size_t time_bytes) const {
    return times * (time_bytes + 1) + types * kTypeBytes + chars + leaps * (time_bytes + 4) + standard_flags + ut_flags;
  }
};

// The header, after which its whole block is known to be there.
Result<Header> read_header(Reader& reader, std::size_t time_bytes) {
  if (reader.left().substr(0, kMagic.size()) != kMagic) return damaged("it does not start with TZif");
  if (reader.left().size() < kHeaderBytes) return damaged("a header is cut short");
  reader.take(kMagic.size());
  Header header{};
  header.version = reader.take(1).front();
  reader.take(kUnusedBytes);
  for (std::uint64_t* count :
       {&header.ut_flags, &header.standard_flags, &header.leaps, &header.times, &header.types, &header.chars}) {
    *count = to_number(reader.take(4));
  }
  if (header.block_bytes(time_bytes) > reader.left().size()) return damaged("a block is cut short");
  return header;
}

Result<std::vector<seconds>> read_offsets(std::string_view types) {
  std::vector<seconds> offsets;
  for (; !types.empty(); types.remove_prefix(kTypeBytes)) {
    const seconds offset = to_offset(types.substr(0, 4));
    if (offset < kOffsetMin || offset > kOffsetMax) return damaged("an offset is more than a day");
    offsets.push_back(offset);
  }
  if (offsets.empty()) return damaged("it has no offset");
  return offsets;
}

Result<std::optional<PosixRule>> read_rule(std::string_view footer) {
  const std::size_t end = footer.find('\n', 1);
  if (footer.empty() || footer.front() != '\n' || end == std::string_view::npos)
    return damaged("its rule is cut short");
  const std::string_view text = footer.substr(1, end - 1);
  if (text.empty()) return std::nullopt;
  return PosixRule::parse(text).map([](PosixRule rule) { return std::optional(rule); });
}

}  // namespace

Result<Zone> Zone::parse(std::string_view bytes) {
  Reader reader(bytes);
  const auto header1 = TRY(read_header(reader, kTime1Bytes));
  if (header1.version < '2') return damaged("its format is older than version 2");
  reader.take(header1.block_bytes(kTime1Bytes));

  const auto header2 = TRY(read_header(reader, kTime2Bytes));
  if (header2.leaps != 0) return damaged("it counts leap seconds");
  Reader block(reader.take(header2.block_bytes(kTime2Bytes)));
  Reader times(block.take(header2.times * kTime2Bytes));
  Reader indices(block.take(header2.times));
  const auto offsets = TRY(read_offsets(block.take(header2.types * kTypeBytes)));

  Zone zone;
  zone.transitions_.front().offset = offsets.front();
  while (!times.left().empty()) {
    const sys_seconds at(to_time(times.take(kTime2Bytes)));
    const std::uint64_t index = to_number(indices.take(1));
    if (at < zone.transitions_.back().at || at > kTimeMax) return damaged("its times are not in order");
    if (index >= offsets.size()) return damaged("a time has no offset");
    zone.transitions_.push_back({.at = at, .offset = offsets[index]});
  }
  zone.rule_ = TRY(read_rule(reader.left()));
  return zone;
}

Stretch Zone::stretch_at(sys_seconds at) const {
  CHECK(kReachMin <= at && at <= kReachMax);
  const auto after =
      std::upper_bound(transitions_.begin(), transitions_.end(), at,
                       [](sys_seconds time, const Transition& transition) { return time < transition.at; });
  CHECK(after != transitions_.begin());
  const Transition& current = *std::prev(after);
  if (after != transitions_.end()) return {.start = current.at, .end = after->at, .offset = current.offset};
  if (!rule_) return {.start = current.at, .end = kTimeMax, .offset = current.offset};
  Stretch stretch = rule_->stretch_at(at);
  stretch.start = std::max(stretch.start, current.at);
  return stretch;
}

}  // namespace mete::civil
