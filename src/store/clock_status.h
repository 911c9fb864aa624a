// ClockStatus: what became of steps of the clock that a store goes by: the machine's, or that of a server elsewhere.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <string_view>

namespace mete::store {

struct ClockStatus {
  std::string_view whose = "the machine's";
  std::uint64_t refused_steps = 0;  // since the start
  // How far that clock is ahead of what it is taken for, behind if negative, while a step is refused; else zero.
  Duration refused_by = {};
};

}  // namespace mete::store
