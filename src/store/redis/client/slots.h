// Which node of a Cluster has which slots, as CLUSTER SLOTS tells it. No I/O.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <vector>

#include "net/address.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {

inline constexpr std::uint16_t kSlots = 16'384;

struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // it included
  net::Address master = {};

  bool operator==(const SlotRange&) const = default;
};

// `asked`: the node that said it, whose host is meant where none is named.
Result<std::vector<SlotRange>> parse_slots(const wire::RespValue& reply, const net::Address& asked);

}  // namespace mete::store::redis
