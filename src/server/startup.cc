#include "server/startup.h"

#include <utility>

#include "base/check.h"
#include "server/config_settings.h"
#include "server/limit_reload.h"
#include "store/open.h"

namespace mete::server {

namespace {

enum class Purpose : std::uint8_t { kServe, kRehearse };

Result<std::unique_ptr<store::Store>> open_store(const Config& config, Purpose purpose, const StartHooks& hooks) {
  Options options;
  options.max_memory = config.max_memory;
  options.id_retention = config.id_retention;
  options.ids_max = config.ids_max;
  options.snapshot_after_bytes = config.snapshot_after;
  options.snapshot_every = config.snapshot_every;
  // A rehearsal touches neither a directory nor a server: what is left of the store is its URL.
  const bool is_rehearsal = purpose == Purpose::kRehearse;
  const auto checked = store::check_url(config.store_location());
  auto store = checked ? store::open_store(is_rehearsal ? std::string(kEmbedded) : config.store_location(), options,
                                           hooks.on_load)
                       : tl::make_unexpected(checked.error());
  if (store) return store;
  const Setting* const setting = find_setting(config.store_url.empty() ? "server.data" : "store.url");
  CHECK(setting != nullptr);
  // A URL can have a password in it.
  std::string message = store.error().message;
  const std::size_t place = config.store_url.empty() ? std::string::npos : message.find(config.store_url);
  if (place != std::string::npos) message.replace(place, config.store_url.size(), value_text(config, *setting));
  return tl::unexpected(Error{store.error().code, config.place_of(setting->name) + ": " + message});
}

Result<Startup> prepare(const ConfigSources& sources, Purpose purpose, const StartHooks& hooks) {
  Startup startup;
  auto config = load_config(sources);
  if (!config) return tl::unexpected(std::move(config.error()));
  startup.config = std::move(*config);
  if (hooks.on_config) hooks.on_config(startup.config);
  auto store = open_store(startup.config, purpose, hooks);
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

}  // namespace

Result<Startup> prepare_start(const ConfigSources& sources, const StartHooks& hooks) {
  return prepare(sources, Purpose::kServe, hooks);
}

Result<Startup> rehearse_start(const ConfigSources& sources) { return prepare(sources, Purpose::kRehearse, {}); }

}  // namespace mete::server
