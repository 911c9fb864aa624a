// ServerGroup: the Mete servers of a URL: which of them has a key, and how they are asked.
//
//     auto usage = group.ask(group.home_of("alice"), core::ReadUsage{"api", "alice"});
//
// Each server has a clock of its own; the latest time that one of them has told is the time here.
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/mete/call.h"
#include "store/mete/rendezvous.h"
#include "store/mete/replies.h"
#include "store/mete/server.h"
#include "store/network/server_url.h"
#include "store/remote.h"
#include "store/remote_clock.h"

namespace mete::store::servers {

class ServerGroup {
 public:
  // Asks all of them. It is enough if one answers: the keys of the others are unavailable until they do.
  static Result<std::unique_ptr<ServerGroup>> open(const ServerUrl& url);

  [[nodiscard]] std::span<const std::unique_ptr<Server>> servers() const { return servers_; }
  [[nodiscard]] Server& home_of(std::string_view key) { return *servers_[rendezvous_.owner_of(key)]; }
  // The server of all the charges' keys. kInvalid if they are at several.
  [[nodiscard]] Result<Server*> home_of(std::span<const Charge> charges);
  // All of them, the one that an id belongs to first.
  [[nodiscard]] std::vector<Server*> from_home_of(std::string_view id);
  // A random id that belongs to the server of this key.
  [[nodiscard]] std::string new_id(std::string_view key) const;

  template <class What>
  Result<typename What::Answer> ask(Server& server, const What& operation) {
    Call call(core::is_repeatable(operation));
    call.add(operation);
    server.run(call);
    return read(server, operation, call.reply(0));
  }
  // What a server has answered to it.
  template <class What>
  Result<typename What::Answer> read(const Server& server, const What& operation,
                                     const Result<wire::RespValue>& reply) {
    if (!reply) return reply.error();
    return read_answer(operation, *reply, [&](bool is_whole, Instant now) -> Result<void> {
      if (!is_whole) return unexpected_reply(What::kTraits.name, server.address());
      clock_.tell(now.ns() / kNsPerMicro);
      return {};
    });
  }

  [[nodiscard]] Instant now() const { return clock_.now(); }
  [[nodiscard]] RemoteStatus status() const;

 private:
  ServerGroup(const ServerUrl& url, std::unique_ptr<net::TlsClient> tls, std::span<const std::string> names);
  Result<void> greet(Server& server);

  std::unique_ptr<net::TlsClient> tls_;  // the servers refer to it
  std::vector<std::unique_ptr<Server>> servers_;
  const Rendezvous rendezvous_;
  RemoteClock clock_;
};

}  // namespace mete::store::servers
