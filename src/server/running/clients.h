// Clients: who is connected, for CLIENT LIST, CLIENT KILL and INFO, and who is watching with MONITOR.
//
// Thread safety: every call from any thread. The strings of a Client are guarded by the registry: they are changed with
// change(), and read through list().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/doors/authentication.h"
#include "server/doors/guesses.h"
#include "server/doors/resp/command.h"

namespace mete::server {

class Worker;

// What CLIENT LIST calls the user that may do everything; the others have the names of their roles.
inline constexpr std::string_view kDefaultUser = "default";

struct Client {
  std::uint64_t id = 0;
  Worker* worker = nullptr;  // whose event loop it is on
  std::string address;
  std::string local_address;
  std::uint64_t connected_at_ns = 0;  // the monotonic clock
  int socket = -1;
  GuessSource source = {};   // where its passwords come from
  bool is_reserved = false;  // it has one of the connections that are kept for the admin
  std::string name = {};
  std::string library = {};
  std::string library_version = {};

  // Of the last second.
  std::atomic<std::size_t> input_bytes{0};
  std::atomic<std::size_t> input_bytes_free{0};
  std::atomic<std::size_t> output_bytes{0};
  std::atomic<std::size_t> output_capacity{0};

  std::atomic<std::uint64_t> active_at_ns{0};
  std::atomic<const Command*> last_command{nullptr};
  std::atomic<int> resp_version{2};
  std::atomic<Role> role{Role::kLook};
  std::atomic<Credential> credential{0};  // what it has shown; 0: nothing
  std::atomic<bool> is_monitor{false};
  std::atomic<bool> is_blocked{false};
};

class Clients {
 public:
  using ClientPointer = std::shared_ptr<Client>;

  void add(ClientPointer client);
  void remove(const Client& client);
  void change(Client& client, const std::function<void(Client&)>& edit);
  // Calls `see` for each client, in the order of their ids.
  void for_each(const std::function<void(const Client&)>& see) const;
  [[nodiscard]] std::size_t size() const;

  void set_monitor(Client& client, bool is_monitor);
  [[nodiscard]] bool has_monitors() const { return monitors_.load(std::memory_order_relaxed) > 0; }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, ClientPointer> clients_;
  std::atomic<std::size_t> monitors_{0};
};

std::string_view user_of(const Client& client);
// One line of CLIENT LIST: of Redis's fields those that are known here.
std::string describe(const Client& client, std::uint64_t now_ns);

}  // namespace mete::server
