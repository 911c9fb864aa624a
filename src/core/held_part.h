// HeldPart: one charge of an open hold, as its meter sees it.
#pragma once

#include <mete/limit.h>

namespace mete::core {

struct HeldPart {
  Amount units = 0;
  Instant made_at;     // decides which window the charge belongs to
  Instant expires_at;  // from then on the part is no longer charged
};

}  // namespace mete::core
