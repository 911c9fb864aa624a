// Planted: bugs that the simulator must find, to prove that it can see. Only it ever plants one.
#pragma once

#include <cstdint>

namespace mete::escrow {

enum class Planted : std::uint8_t {
  kNone,
  kDrawWithoutId,       // a draw that has no answer is asked again under another id
  kShareWithoutWindow,  // a share does not die with its window
  kShareKept,           // a node that was killed comes back with the share it had in memory some time before
  kGiveBeforeDeducted,  // a share can be spent until the shared store has confirmed that it is given back
};

}  // namespace mete::escrow
