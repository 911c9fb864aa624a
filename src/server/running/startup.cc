#include "server/running/startup.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "escrow/nodes/registration.h"
#include "journal/posix_file_system.h"
#include "server/configuration/config_settings.h"
#include "server/limits/limit_reload.h"
#include "store/open.h"

namespace mete::server {

namespace {

enum class Purpose : std::uint8_t { kServe, kRehearse };

// An error about the URL of a store, which can have a password in it.
Error refuse_store(const Config& config, std::string_view setting_name, const Error& error) {
  const Setting* const setting = find_setting(setting_name);
  CHECK(setting != nullptr);
  const std::string& url = config.*std::get<std::string Config::*>(setting->member);
  std::string message = error.message;
  const std::size_t place = setting->kind == SettingKind::kUrl ? message.find(url) : std::string::npos;
  if (place != std::string::npos) message.replace(place, url.size(), value_text(config, *setting));
  return Error{error.code, config.place_of(setting_name) + ": " + message};
}

// Time for a predecessor that was killed to be missed.
void wait_a_while(Duration wait) { std::this_thread::sleep_for(std::chrono::nanoseconds(wait.ns())); }

std::optional<escrow::PeerOptions> link_of(const Config& config, base::Log* log) {
  if (config.escrow_listen.empty()) return std::nullopt;
  return escrow::PeerOptions{
      .listen = config.escrow_listen,
      .secret = config.escrow_secret,
      .tls = {.certificate = config.escrow_tls_cert, .key = config.escrow_tls_key, .authority = config.escrow_tls_ca},
      .clock = nullptr,
      .log = log};
}

// A node's store: the local one, which draws shares from the one that all nodes share. A rehearsal has both in memory.
Result<std::unique_ptr<escrow::EscrowStore>> with_shares(const Config& config, std::unique_ptr<store::Store> local,
                                                         const StartHooks& hooks, Purpose purpose) {
  if (const auto ok = store::check_url(config.escrow_shared); !ok) {
    return refuse_store(config, "escrow.shared", ok.error());
  }
  const bool is_rehearsal = purpose == Purpose::kRehearse;
  auto shared = store::open_closed_store(is_rehearsal ? std::string(kEmbedded) : config.escrow_shared, {});
  if (!shared) return refuse_store(config, "escrow.shared", shared.error());
  escrow::EscrowParts parts{.local = std::move(local),
                            .shared = std::move(*shared),
                            .node = config.escrow_node,
                            .incarnation = 1,
                            .registration = nullptr,
                            .link = std::nullopt,
                            .peers = config.escrow_peers,
                            .clock = nullptr,
                            .log = hooks.log};
  if (!is_rehearsal) {
    static journal::PosixFileSystem files;
    auto registration = escrow::Registration::take(*parts.shared, {.name = config.escrow_node,
                                                                   .address = config.escrow_address(),
                                                                   .directory = config.data_directory(),
                                                                   .files = &files,
                                                                   .wait = wait_a_while});
    if (!registration) return refuse_store(config, "escrow.shared", registration.error());
    parts.incarnation = static_cast<std::uint64_t>((*registration)->self().incarnation);
    parts.registration = std::move(*registration);
    parts.link = link_of(config, hooks.log);
  }
  auto store = escrow::EscrowStore::open(std::move(parts));
  if (!store) return refuse_store(config, "escrow.shared", store.error());
  return store;
}

Result<std::unique_ptr<store::Store>> open_own_store(const Config& config, Purpose purpose, const StartHooks& hooks) {
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
                       : checked.error();
  if (store) return store;
  return refuse_store(config, config.store_url.empty() ? "server.data" : "store.url", store.error());
}

Result<Startup> prepare(const ConfigSources& sources, Purpose purpose, const StartHooks& hooks) {
  Startup startup;
  auto config = TRY(load_config(sources));
  startup.config = std::move(config);
  if (hooks.on_config) hooks.on_config(startup.config);
  auto store = TRY(open_own_store(startup.config, purpose, hooks));
  startup.store = std::move(store);
  if (startup.config.is_node()) {
    auto node = TRY(with_shares(startup.config, std::move(startup.store), hooks, purpose));
    startup.node = node.get();
    startup.store = std::move(node);
  }
  TRY(apply_limits(*startup.store, {.previous = {}, .next = startup.config.limits}));
  const Config& known = startup.config;
  if (known.tls_cert.empty()) return startup;
  startup.tls = TRY(net::TlsContext::load({known.tls_cert, known.tls_key, known.tls_client_ca}));
  return startup;
}

}  // namespace

Result<Startup> prepare_start(const ConfigSources& sources, const StartHooks& hooks) {
  return prepare(sources, Purpose::kServe, hooks);
}

Result<Startup> rehearse_start(const ConfigSources& sources) { return prepare(sources, Purpose::kRehearse, {}); }

}  // namespace mete::server
