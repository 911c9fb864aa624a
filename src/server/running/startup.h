// Startup: all of a start that needs no listening. `mete check-config` rehearses it, so that what it calls good can be
// started.
#pragma once

#include <mete/result.h>

#include <functional>
#include <memory>

#include "base/log.h"
#include "net/tls.h"
#include "server/configuration/config.h"
#include "store/store.h"

namespace mete::escrow {
class EscrowStore;
}

namespace mete::server {

struct Startup {
  Config config;
  std::unique_ptr<store::Store> store;   // with the limits of the file
  escrow::EscrowStore* node = nullptr;   // the same, as a node of a cluster; null: it is none
  std::shared_ptr<net::TlsContext> tls;  // null: plain text
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

}  // namespace mete::server
