#include "server/running/clients.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "net/connection.h"

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

std::string_view user_of(const Client& client) {
  const Role role = client.role;
  return role == Role::kAdmin ? kDefaultUser : to_string(role);
}

std::string describe(const Client& client, std::uint64_t now_ns) {
  const auto seconds_since = [&](std::uint64_t then_ns) {
    return now_ns > then_ns ? (now_ns - then_ns) / 1'000'000'000 : 0;
  };
  const Command* const last = client.last_command;
  const std::string command = last == nullptr ? "NULL" : redis_name(last->name);
  const std::size_t input = client.input_bytes;
  const std::size_t input_free = client.input_bytes_free;
  const std::size_t output_capacity = client.output_capacity;
  // Client libraries want these fields of Redis. Arguments are views into the input (argv-mem), and the output is one
  // buffer (oll); tot-mem is what a connection needs besides its session: an idle one has no buffers.
  return fmt::format(
      "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf={} "
      "qbuf-free={} argv-mem=0 obl={} oll=0 omem={} tot-mem={} events=r user={} redir=-1 resp={} lib-name={} "
      "lib-ver={} cmd={}",
      client.id, client.address, client.local_address, client.socket, client.name,
      seconds_since(client.connected_at_ns), seconds_since(client.active_at_ns),
      client.is_monitor   ? "O"
      : client.is_blocked ? "b"
                          : "N",
      input, input_free, client.output_bytes.load(), output_capacity,
      sizeof(net::Connection) + sizeof(Client) + input + input_free + output_capacity, user_of(client),
      client.resp_version.load(), client.library, client.library_version, command);
}

}  // namespace mete::server
