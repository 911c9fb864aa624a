// Startup: all of a start that needs no listening. `mete check-config` rehearses it, so that what it calls good can be
// started.
#pragma once

#include <mete/result.h>

#include <functional>
#include <memory>

#include "base/log.h"
#include "net/tls/tls.h"
#include "server/configuration/config.h"
#include "server/limits/file_limits.h"

namespace mete::escrow {
class EscrowStore;
struct PeerCredentials;
}  // namespace mete::escrow
namespace mete::store {
class WatchedStore;
}

namespace mete::server {

struct Startup {
  Config config;
  std::unique_ptr<FileLimits> store;       // with the limits of the file
  escrow::EscrowStore* node = nullptr;     // the same, as a node of a cluster; null: it is none
  store::WatchedStore* watched = nullptr;  // where `store` is elsewhere: inside of it
  std::shared_ptr<net::TlsContext> tls;    // null: plain text
};

// What a start tells on its way.
struct StartHooks {
  std::function<void(const Config&)> on_config = {};  // before the store is opened
  std::function<void(const store::LoadProgress&)> on_load = {};
  base::Log* log = nullptr;  // of what happens later; may be left out
};

Result<Startup> prepare_start(const ConfigSources& sources, const StartHooks& hooks = {});
// The same on an empty store in memory, for what would be in the data folder: a server may be using that.
Result<Startup> rehearse_start(const ConfigSources& sources);

// By which a node is a client of the others: it knows their password, which is its own, shows its own certificate, and
// believes in who signed theirs.
Result<escrow::PeerCredentials> peer_credentials(const Config& config);

}  // namespace mete::server
