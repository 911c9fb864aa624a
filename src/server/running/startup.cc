#include "server/running/startup.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "escrow/nodes/registration.h"
#include "journal/posix_file_system.h"
#include "server/configuration/config_settings.h"
#include "server/doors/authentication.h"
#include "server/limits/limit_reload.h"
#include "server/running/advertised.h"
#include "store/away/watched_store.h"
#include "store/fail_open.h"
#include "store/open.h"

namespace mete::server {

namespace {

constexpr Duration kOpenEvery = std::chrono::milliseconds(500);

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

Result<std::optional<net::TlsClient>> tls_of(const Config& config) {
  if (config.tls_cert.empty()) return std::nullopt;
  constexpr net::TlsClientNames kNames = {
      .kind = "setting", .ca = "tls.client_ca", .certificate = "tls.cert", .key = "tls.key"};
  auto client = TRY(net::TlsClient::load(
      {.ca = config.tls_client_ca, .certificate = config.tls_cert, .key = config.tls_key}, kNames));
  return std::optional(std::move(client));
}

// A node's store: the local one, which draws shares from the one that all nodes share. A rehearsal has both in memory.
// `local` is left there unless the store has it now.
Result<std::unique_ptr<escrow::EscrowStore>> with_shares(const Config& config, std::unique_ptr<store::Store>& local,
                                                         const StartHooks& hooks, Purpose purpose) {
  if (const auto ok = store::check_url(config.escrow_shared); !ok) {
    return refuse_store(config, "escrow.shared", ok.error());
  }
  const bool is_rehearsal = purpose == Purpose::kRehearse;
  auto opened = store::open_closed_store(is_rehearsal ? kEmbedded : config.escrow_shared, {}, hooks.on_load);
  if (!opened) return refuse_store(config, "escrow.shared", opened.error());
  // Whether it has lost its state, the registration notices.
  auto shared = TRY(store::WatchedStore::open(std::move(*opened), {.name = without_password(config.escrow_shared),
                                                                   .has_identity = false,
                                                                   .log = hooks.log,
                                                                   .has_thread = !is_rehearsal}));
  escrow::EscrowParts parts{.local = nullptr,
                            .shared = std::move(shared),
                            .node = config.escrow_node,
                            .incarnation = 1,
                            .registration = nullptr,
                            .credentials = {},
                            .directory = {},
                            .files = nullptr,
                            .local_share_percent = static_cast<int>(config.local_share),
                            .clock = nullptr,
                            .log = hooks.log};
  if (!is_rehearsal) {
    static journal::PosixFileSystem files;
    const std::string address = advertised_address(config.resp, config.escrow_shared);
    if (address.empty() && hooks.log != nullptr) {
      hooks.log->warning("counters of other nodes do not get here",
                         {{"reason", "server.resp has no address with a port that they could connect to"}});
    }
    auto registration = escrow::Registration::take(*parts.shared, {.name = config.escrow_node,
                                                                   .address = address,
                                                                   .directory = config.data_directory(),
                                                                   .files = &files,
                                                                   .wait = wait_a_while});
    if (!registration) return refuse_store(config, "escrow.shared", registration.error());
    parts.incarnation = static_cast<std::uint64_t>((*registration)->self().incarnation);
    parts.registration = std::move(*registration);
    parts.credentials = TRY(peer_credentials(config));
    parts.directory = config.data_directory();
    parts.files = &files;
  }
  parts.local = std::move(local);
  auto store = escrow::EscrowStore::open(std::move(parts));
  if (!store) return refuse_store(config, "escrow.shared", store.error());
  return store;
}

// With an outage and a loss noticed, and limits that fail open: for a store elsewhere.
Result<std::unique_ptr<store::Store>> watch(const Config& config, std::unique_ptr<store::Store> store,
                                            const StartHooks& hooks, Startup& startup) {
  const bool is_closed = config.when_wiped == "closed";
  auto watched = TRY(store::WatchedStore::open(
      std::move(store), {.name = without_password(config.store_location()),
                         .when_wiped = is_closed ? store::WhenWiped::kClosed : store::WhenWiped::kFresh,
                         .log = hooks.log}));
  startup.watched = watched.get();
  return std::make_unique<store::FailOpen>(
      std::move(watched),
      store::FailOpen::Settings{.local_share_percent = static_cast<int>(config.local_share), .log = hooks.log});
}

Result<std::unique_ptr<store::Store>> open_own_store(const Config& config, Purpose purpose, const StartHooks& hooks,
                                                     Startup& startup) {
  Options options;
  options.max_memory = config.max_memory;
  options.id_retention = config.id_retention;
  options.ids_max = config.ids_max;
  options.snapshot_after_bytes = config.snapshot_after;
  options.snapshot_every = config.snapshot_every;
  options.disk_reserve_bytes = config.disk_reserve;
  options.clock_step_max = config.clock_step_max;
  options.local_share_percent = static_cast<int>(config.local_share);
  // A rehearsal touches neither a directory nor a server: what is left of the store is its URL.
  const bool is_rehearsal = purpose == Purpose::kRehearse;
  const auto checked = store::check_url(config.store_location());
  const std::string url = is_rehearsal ? std::string(kEmbedded) : config.store_location();
  auto store = checked ? store::open_closed_store(url, options, hooks.on_load) : checked.error();
  if (store && (*store)->remote()) store = watch(config, std::move(*store), hooks, startup);
  if (store) return store;
  return refuse_store(config, config.store_url.empty() ? "server.data" : "store.url", store.error());
}

// `local`: a node's own store, which is left there unless the startup has it; of any other server it is none.
Result<Startup> open_stores(const Config& config, Purpose purpose, const StartHooks& hooks,
                            std::unique_ptr<store::Store>& local) {
  Startup startup;
  std::unique_ptr<store::Store> store;
  store::Store* own = local.get();
  if (local != nullptr) {
    auto node = TRY(with_shares(config, local, hooks, purpose));
    startup.node = node.get();
    store = std::move(node);
  } else {
    store = TRY(open_own_store(config, purpose, hooks, startup));
    own = store.get();
  }
  startup.store = TRY(FileLimits::open(std::move(store), *own));
  TRY(apply_limits(*startup.store, {.previous = {}, .next = config.limits}));
  return startup;
}

// A store elsewhere may be away for as long as the configuration says; also one server of several, or in the middle of
// a start. Nobody waits for a disk.
Result<Startup> open_stores_patiently(const Config& config, Purpose purpose, const StartHooks& hooks) {
  const Instant begun_at = base::monotonic_now();
  const bool is_elsewhere = config.is_node() || !config.store_location().starts_with(kEmbedded);
  std::unique_ptr<store::Store> local;
  for (bool is_told = false;; is_told = true) {
    if (Startup none; config.is_node() && local == nullptr) {
      local = TRY(open_own_store(config, purpose, hooks, none));
    }
    auto opened = open_stores(config, purpose, hooks, local);
    if (opened || opened.error().code != ErrorCode::kUnavailable || !is_elsewhere) return opened;
    if (base::monotonic_now() - begun_at >= config.store_wait) return opened;
    if (!is_told && hooks.log != nullptr) {
      const std::string& url = config.is_node() ? config.escrow_shared : config.store_location();
      hooks.log->warning("waiting for the store",
                         {{"store", without_password(url)}, {"reason", opened.error().message}});
    }
    wait_a_while(kOpenEvery);
  }
}

Result<Startup> prepare(const ConfigSources& sources, Purpose purpose, const StartHooks& hooks) {
  const auto config = TRY(load_config(sources));
  if (hooks.on_config) hooks.on_config(config);
  auto startup = TRY(open_stores_patiently(config, purpose, hooks));
  startup.config = config;
  if (config.tls_cert.empty()) return startup;
  startup.tls = TRY(net::TlsContext::load({config.tls_cert, config.tls_key, config.tls_client_ca}));
  return startup;
}

}  // namespace

Result<escrow::PeerCredentials> peer_credentials(const Config& config) {
  escrow::PeerCredentials credentials;
  for (const std::string_view line : password_lines(config.password)) credentials.passwords.emplace_back(line);
  credentials.tls = TRY(tls_of(config));
  return credentials;
}

Result<Startup> prepare_start(const ConfigSources& sources, const StartHooks& hooks) {
  return prepare(sources, Purpose::kServe, hooks);
}

Result<Startup> rehearse_start(const ConfigSources& sources) { return prepare(sources, Purpose::kRehearse, {}); }

}  // namespace mete::server
