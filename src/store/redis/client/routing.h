// What Redis says about the way to it: most replies are answers, and some errors say that the command was not carried
// out because it came to the wrong place or at the wrong time; and a Cluster tells which node has which slots. No I/O.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "net/address.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {

inline constexpr std::uint16_t kSlots = 16'384;

enum class ReplyKind : std::uint8_t {
  kAnswer,    // errors that are the caller's included
  kNoScript,  // the node does not know the digest
  kLater,     // the node cannot serve now, but soon: LOADING, BUSY, TRYAGAIN
  kNotHere,   // nor will it soon, perhaps: READONLY, MASTERDOWN, CLUSTERDOWN: look who can, and then later
  kMoved,     // another node has the slot
  kAsk,       // another node has this key already, while its slot is on the way there
};

ReplyKind kind_of(const wire::RespValue& reply);

// Where a MOVED or ASK sends the command: "MOVED 3999 127.0.0.1:6381".
struct Redirection {
  std::uint16_t slot = 0;
  net::Address address = {};

  bool operator==(const Redirection&) const = default;
};
// `asked`: the node that said it; a redirection without a host means another port of the same host. Nothing if it
// cannot be understood.
std::optional<Redirection> redirection_of(const wire::RespValue& reply, const net::Address& asked);

// One row of CLUSTER SLOTS.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // it included
  net::Address master = {};

  bool operator==(const SlotRange&) const = default;
};

// `asked`: the node that said it, whose host is meant where none is named.
Result<std::vector<SlotRange>> parse_slots(const wire::RespValue& reply, const net::Address& asked);

}  // namespace mete::store::redis
