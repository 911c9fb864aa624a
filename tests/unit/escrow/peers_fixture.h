// What the tests of counters and of peers have in common: a time, a secret, patience, and a node in memory.
#pragma once

#include <mete/time.h>

#include <chrono>
#include <string>
#include <utility>

#include "escrow/peers/receiver.h"

namespace mete::escrow {

inline constexpr Instant kNow = Instant::from_unix_seconds(1'700'000'000);
inline constexpr const char* kSecret = "a secret of some length";
inline constexpr auto kLong = std::chrono::seconds(20);

// A node without sockets: its counters, and how it introduces itself.
struct PeerNode {
  explicit PeerNode(const Writer& self, std::string secret = kSecret)
      : counters(self), identity{.self = self, .secret = std::move(secret), .roster = roster} {}

  Counters counters;
  Roster roster;
  Identity identity;
};

}  // namespace mete::escrow
