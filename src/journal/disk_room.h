// DiskRoom: whether a disk has room for what is yet to be written. A state machine without a disk: what was found there
// is an argument.
//
//     kPlenty ── below 4 reserves ──▶ kScarce ── below 1 ──▶ kNone
//        ▲──── at 5 reserves or more ────┘ ▲──── at 2 or more ──┘
//
// At kNone nothing more is begun: the reserve is for what was begun before, for a snapshot that makes room, and for the
// time between two looks. Of a small disk the reserve is a sixteenth at most. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "journal/file_system.h"

namespace mete::journal {

class DiskRoom {
 public:
  enum class Level : std::uint8_t { kPlenty, kScarce, kNone };

  // 0: there is always room.
  explicit DiskRoom(std::uint64_t reserve_bytes) : wanted_bytes_(reserve_bytes) {}

  Level update(const Space& found) {
    reserve_bytes_ = std::min(wanted_bytes_, found.total_bytes / 16);
    const auto has = [&](std::uint64_t reserves) { return found.free_bytes >= reserves * reserve_bytes_; };
    if (has(5)) {
      level_ = Level::kPlenty;
    } else if (!has(1) || (level_ == Level::kNone && !has(2))) {
      level_ = Level::kNone;
    } else if (!has(4) || level_ == Level::kNone) {
      level_ = Level::kScarce;
    }
    return level_;
  }
  // As of the last look.
  [[nodiscard]] std::uint64_t reserve_bytes() const { return reserve_bytes_; }

 private:
  const std::uint64_t wanted_bytes_;
  std::uint64_t reserve_bytes_ = 0;
  Level level_ = Level::kPlenty;
};

}  // namespace mete::journal
