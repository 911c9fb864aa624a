#include "server/clients.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace mete::server {

void Clients::add(ClientPointer client) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = client->id;
  clients_.emplace(id, std::move(client));
}

void Clients::remove(const Client& client) {
  const std::lock_guard lock(mutex_);
  if (client.is_monitor) --monitors_;
  clients_.erase(client.id);
}

void Clients::change(Client& client, const std::function<void(Client&)>& edit) {
  const std::lock_guard lock(mutex_);
  edit(client);
}

void Clients::for_each(const std::function<void(const Client&)>& see) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, client] : clients_) see(*client);
}

std::size_t Clients::size() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

void Clients::set_monitor(Client& client, bool is_monitor) {
  if (client.is_monitor.exchange(is_monitor) != is_monitor) monitors_ += is_monitor ? 1 : static_cast<std::size_t>(-1);
}

std::string describe(const Client& client, std::uint64_t now_ns) {
  const auto seconds_since = [&](std::uint64_t then_ns) {
    return now_ns > then_ns ? (now_ns - then_ns) / 1'000'000'000 : 0;
  };
  const Command* const last = client.last_command;
  std::string command(last == nullptr ? "" : last->name);
  for (char& letter : command) letter = letter == ' ' ? '|' : static_cast<char>(std::tolower(letter));
  if (command.empty()) command = "NULL";  // as Redis has it
  return fmt::format(
      "id={} addr={} laddr={} name={} age={} idle={} flags={} db=0 user={} resp={} lib-name={} lib-ver={} cmd={}",
      client.id, client.address, client.local_address, client.name, seconds_since(client.connected_at_ns),
      seconds_since(client.active_at_ns),
      client.is_monitor   ? "O"
      : client.is_blocked ? "b"
                          : "N",
      client.is_admin ? "default" : "use", client.resp_version.load(), client.library, client.library_version, command);
}

}  // namespace mete::server
