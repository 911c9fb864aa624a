// Guesses: how often wrong passwords may be tried, from each address and in sum.
//
// From one address a few wrong passwords are looked at, then one a second; from all addresses that have been wrong
// lately some more. An address that has not been wrong is never made to wait by others. The same wrong password again
// tells a guesser nothing, and costs nothing: a client that was not told of a new password does not lock out its
// neighbours behind the same address.
//
// Addresses are remembered for a minute, and at most kAddressesMax: beyond that, new ones share what there is in sum.
// IPv6 addresses count by their /64, which is one subscriber's.
//
// Thread safety: none; time is an argument.
#pragma once

#include <mete/time.h>

#include <array>
#include <compare>
#include <cstdint>
#include <unordered_map>

#include "net/address.h"
#include "server/doors/authentication.h"

namespace mete::server {

// Where a guess comes from. On a Unix socket each user of the machine is an address.
struct GuessSource {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static GuessSource of(const net::SocketAddress& address);
  // Of a client's socket.
  static GuessSource of_peer(int socket);
  auto operator<=>(const GuessSource&) const = default;
};

class Guesses {
 public:
  static constexpr int kFreeOfAddress = 10;
  static constexpr Duration kEveryOfAddress = std::chrono::seconds(1);
  static constexpr int kFreeInSum = 100;
  static constexpr Duration kEveryInSum = std::chrono::milliseconds(50);
  static constexpr std::size_t kAddressesMax = 16'384;
  static constexpr Duration kRemembered = std::chrono::minutes(1);  // after the last wrong one

  // How long it takes until a password from there is looked at; zero: it is now.
  [[nodiscard]] Duration wait(const GuessSource& source, Credential password, std::uint64_t now_ns);
  // It was looked at, and wrong.
  void note_wrong(const GuessSource& source, Credential password, std::uint64_t now_ns);
  [[nodiscard]] std::size_t addresses() const { return addresses_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const GuessSource& source) const noexcept;
  };
  // Each wrong password adds to the time that is owed; as long as that is short, the next one is looked at.
  struct Address {
    std::uint64_t owes_until_ns = 0;
    std::uint64_t remembered_until_ns = 0;
    std::array<Credential, 4> wrong = {};  // the last ones
    std::size_t next = 0;
  };

  [[nodiscard]] bool has_room(std::uint64_t now_ns);

  std::unordered_map<GuessSource, Address, Hash> addresses_;
  std::uint64_t sum_owes_until_ns_ = 0;
  std::uint64_t swept_at_ns_ = 0;
};

}  // namespace mete::server
