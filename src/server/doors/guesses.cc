#include "server/doors/guesses.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "net/listener.h"

namespace mete::server {

namespace {

constexpr std::uint64_t kSweepEveryNs = 1'000'000'000;

constexpr std::uint64_t ns(Duration duration) { return static_cast<std::uint64_t>(duration.ns()); }

// How long until what is owed leaves room for one more.
Duration wait_for(std::uint64_t owes_until_ns, std::uint64_t now_ns, Duration every, int free) {
  const std::uint64_t owed_max = ns(every) * static_cast<std::uint64_t>(free - 1);
  const std::uint64_t owed = owes_until_ns > now_ns ? owes_until_ns - now_ns : 0;
  return Duration::from_ns(static_cast<std::int64_t>(owed > owed_max ? owed - owed_max : 0));
}

void owe(std::uint64_t& owes_until_ns, std::uint64_t now_ns, Duration every, int free) {
  owes_until_ns = std::max(owes_until_ns, now_ns) + ns(every);
  owes_until_ns = std::min(owes_until_ns, now_ns + ns(every) * static_cast<std::uint64_t>(free));
}

}  // namespace

GuessSource GuessSource::of(const net::SocketAddress& address) {
  GuessSource source;
  if (address.family() == AF_INET) {
    sockaddr_in found{};
    std::memcpy(&found, &address.storage, sizeof found);
    source.low = 0xFFFF'0000'0000U | found.sin_addr.s_addr;
  } else if (address.family() == AF_INET6) {
    sockaddr_in6 found{};
    std::memcpy(&found, &address.storage, sizeof found);
    std::memcpy(&source.high, &found.sin6_addr, sizeof source.high);
    source.low = 1;  // apart from Unix sockets
  }
  return source;
}

GuessSource GuessSource::of_peer(int socket) {
  const net::SocketAddress address = net::peer_address(socket);
  GuessSource source = of(address);
  ucred user{};
  socklen_t size = sizeof user;
  const bool is_told = address.family() == AF_UNIX && ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0;
  if (is_told) source.low = std::uint64_t{1} << 32U | user.uid;  // apart from all addresses
  return source;
}

std::size_t Guesses::Hash::operator()(const GuessSource& source) const noexcept {
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15U;
  std::uint64_t mixed = (source.high ^ (source.low * kOdd)) * kOdd;
  mixed ^= mixed >> 32;
  return static_cast<std::size_t>(mixed * kOdd);
}

Duration Guesses::wait(const GuessSource& source, Credential password, std::uint64_t now_ns) {
  const auto found = addresses_.find(source);
  const Duration in_sum = wait_for(sum_owes_until_ns_, now_ns, kEveryInSum, kFreeInSum);
  if (found == addresses_.end()) return has_room(now_ns) ? Duration() : in_sum;
  const Address& address = found->second;
  if (address.remembered_until_ns <= now_ns) return {};
  if (std::find(address.wrong.begin(), address.wrong.end(), password) != address.wrong.end()) return {};
  return std::max(in_sum, wait_for(address.owes_until_ns, now_ns, kEveryOfAddress, kFreeOfAddress));
}

void Guesses::note_wrong(const GuessSource& source, Credential password, std::uint64_t now_ns) {
  const auto found = addresses_.find(source);
  if (found == addresses_.end() && !has_room(now_ns)) {
    owe(sum_owes_until_ns_, now_ns, kEveryInSum, kFreeInSum);
    return;
  }
  Address& address = found != addresses_.end() ? found->second : addresses_[source];
  address.remembered_until_ns = now_ns + ns(kRemembered);
  if (std::find(address.wrong.begin(), address.wrong.end(), password) != address.wrong.end()) return;
  owe(sum_owes_until_ns_, now_ns, kEveryInSum, kFreeInSum);
  owe(address.owes_until_ns, now_ns, kEveryOfAddress, kFreeOfAddress);
  address.wrong[address.next] = password;
  address.next = (address.next + 1) % address.wrong.size();
}

// Those whose time is over are forgotten when room is needed; not at every guess, as there may be none.
bool Guesses::has_room(std::uint64_t now_ns) {
  if (addresses_.size() < kAddressesMax) return true;
  if (now_ns - swept_at_ns_ < kSweepEveryNs) return false;
  swept_at_ns_ = now_ns;
  std::erase_if(addresses_, [&](const auto& each) { return each.second.remembered_until_ns <= now_ns; });
  return addresses_.size() < kAddressesMax;
}

}  // namespace mete::server
