#include "server/startup.h"

#include <utility>

#include "base/check.h"
#include "server/config_settings.h"
#include "server/limit_reload.h"
#include "store/open.h"

namespace mete::server {

namespace {

Result<std::unique_ptr<store::Store>> open_store(const Config& config, const StartHooks& hooks) {
  Options options;
  options.max_memory = config.max_memory;
  options.id_retention = config.id_retention;
  options.ids_max = config.ids_max;
  options.snapshot_after_bytes = config.snapshot_after;
  options.snapshot_every = config.snapshot_every;
  auto store = store::open_store(config.store_url.empty() ? "embedded:" : config.store_url, options, hooks.on_load);
  if (store) return store;
  // A URL can have a password in it.
  std::string message = store.error().message;
  const std::size_t url = message.find(config.store_url);
  const Setting* const setting = find_setting("store.url");
  CHECK(setting != nullptr);
  if (url != std::string::npos) message.replace(url, config.store_url.size(), value_text(config, *setting));
  return tl::unexpected(Error{store.error().code, config.place_of(setting->name) + ": " + message});
}

}  // namespace

Result<Startup> prepare_start(const ConfigSources& sources, const StartHooks& hooks) {
  Startup startup;
  auto config = load_config(sources);
  if (!config) return tl::unexpected(std::move(config.error()));
  startup.config = std::move(*config);
  if (hooks.on_config) hooks.on_config(startup.config);
  auto store = open_store(startup.config, hooks);
  if (!store) return tl::unexpected(std::move(store.error()));
  startup.store = std::move(*store);
  const auto applied = apply_limits(*startup.store, {.previous = {}, .next = startup.config.limits});
  if (!applied) return tl::unexpected(applied.error());
  const Config& known = startup.config;
  if (known.tls_cert.empty()) return startup;
  auto tls = net::TlsContext::load({known.tls_cert, known.tls_key, known.tls_client_ca});
  if (!tls) return tl::unexpected(std::move(tls.error()));
  startup.tls = std::move(*tls);
  return startup;
}

}  // namespace mete::server
