// Config: what `mete serve` is told, from flags, the environment and mete.toml; flag over environment over file.
//
// Plain values, and the defaults are the initialisers below. config_settings.h declares every setting once: its name,
// its range and its help; everything that reads, prints or documents settings goes by that table. A configuration is
// loaded whole or not at all, and each error says where (file:line:column, variable or flag), what is wrong and what
// would be right. Thread safety: values.
//
//     auto config = server::load_config({.file = "mete.toml", .environment = environment, .flags = {{"http", "off"}}});
#pragma once

#include <mete/limit.h>
#include <mete/result.h>
#include <mete/time.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/doors/authentication.h"
#include "sync/plan.h"

namespace mete::server {

inline constexpr std::size_t kConfigBytesMax = std::size_t{4} << 20;
// Of one setting: while a password is being replaced, the old one is valid beside the new one.
inline constexpr std::size_t kPasswordLinesMax = 2;
// The store in this process: in memory alone, or in the folder whose name follows.
inline constexpr std::string_view kEmbedded = "embedded:";

// A limit as it stands in the file.
struct FileLimit {
  Limit limit;
  std::string place;  // "mete.toml:12", for errors that are found later

  bool operator==(const FileLimit&) const = default;
};

// A sync as it stands in the file.
struct FileSync {
  sync::Plan plan = {};
  std::string place = {};

  bool operator==(const FileSync&) const = default;
};

// Where values came from ("mete.toml:3:8: server.resp", "--resp"), by the names of their settings: for errors that are
// found later. No part of what a configuration says: all are equal.
struct ValuePlaces {
  std::map<std::string, std::string, std::less<>> by_name;

  bool operator==(const ValuePlaces& /*other*/) const { return true; }
};

struct Config {
  // Where to listen: "host:port", "[::1]:6380" or "unix:/path" (net/address.h); none: not at all.
  std::vector<std::string> resp = {"127.0.0.1:6380"};
  std::vector<std::string> http = {"127.0.0.1:8380"};
  std::vector<std::string> grpc = {};
  std::string envoy_config;             // the folder of envoyproxy/ratelimit's rules; empty: there are none
  bool envoy_response_headers = false;  // answers bring RateLimit headers for the response
  bool insecure = false;
  // Where the state lives; store_location() tells which of the two.
  std::string data = "./mete-data";
  std::string store_url;
  Duration store_wait;                // a start waits so long for a store elsewhere
  std::size_t local_share = 10;       // per cent of a limit with on_fail = local
  std::string when_wiped = "closed";  // closed | fresh
  // Empty: none; a line each. A password from a file is here once load_config has returned.
  std::string password;       // allows everything
  std::string use_password;   // allows to take, give, hold and look, and nothing that changes limits or the server
  std::string look_password;  // allows to look
  std::string password_file;
  std::string use_password_file;
  std::string look_password_file;
  bool use_without_force = false;  // use_password allows no takes by FORCE
  bool use_without_give = false;   // nor to give back
  // By which names browsers may call this server; an address, localhost and names without dots always do.
  std::vector<std::string> http_hosts;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;

  std::size_t threads = 0;  // 0: one for every two cores
  std::size_t max_connections = 10'000;
  Duration authentication_timeout = std::chrono::seconds(10);
  Duration idle_timeout;         // zero: connections may be idle for ever
  Duration grpc_connection_age;  // zero: connections of gRPC may be of any age
  Duration drain_time;           // between a signal to stop and the end of listening
  // Per connection. A client that goes beyond one of these is told so and disconnected, but for the next two.
  std::size_t query_buffer_max = std::size_t{32} << 20;
  std::size_t bulk_max = std::size_t{1} << 20;
  std::size_t arguments_max = 1'048'576;
  std::size_t output_buffer_max = std::size_t{16} << 20;
  std::size_t pipeline_max = 1024;
  std::size_t clients_memory_max = std::size_t{1} << 30;  // of all connections; 0: no ceiling
  std::size_t http_header_max = std::size_t{16} << 10;
  std::size_t http_body_max = std::size_t{1} << 20;
  std::size_t waiters_max = 10'000;

  std::size_t max_memory = 0;  // 0: no ceiling
  Duration id_retention = std::chrono::hours(24);
  std::size_t ids_max = 10'000'000;
  // When a snapshot is written without being asked for; zero: never for that reason.
  std::size_t snapshot_after = std::size_t{256} << 20;  // bytes of the journal
  Duration snapshot_every = std::chrono::hours(1);
  std::size_t disk_reserve = std::size_t{64} << 20;    // 0: none
  Duration clock_step_max = std::chrono::minutes(10);  // 0: every step is followed

  // The cluster that this server is a node of; shared empty: none.
  std::string escrow_shared;  // the store's URL
  std::string escrow_node;    // this node's name

  // What becomes of limits that stood in the file and no longer do.
  std::string removed_limits = "keep";  // keep | drop
  std::size_t removed_limits_max = 3;   // at once

  std::string log_format = "auto";  // auto | text | json
  std::string log_level = "info";   // debug | info | warning | error
  Duration slowlog_threshold = std::chrono::milliseconds(10);

  std::vector<FileLimit> limits;
  std::vector<FileSync> syncs;
  ValuePlaces places;

  // The URL for mete::open: store_url, or the embedded store in `data`.
  [[nodiscard]] std::string store_location() const {
    return store_url.empty() ? std::string(kEmbedded) + data : store_url;
  }
  // Of the embedded store; empty: it keeps everything in memory, or it is another store.
  [[nodiscard]] std::string data_directory() const {
    const std::string url = store_location();
    return url.starts_with(kEmbedded) ? url.substr(kEmbedded.size()) : "";
  }
  [[nodiscard]] bool is_memory_only() const { return store_location() == kEmbedded; }

  [[nodiscard]] bool is_node() const { return !escrow_shared.empty(); }

  // The setting's name where the value is the default.
  [[nodiscard]] std::string place_of(std::string_view setting) const {
    const auto found = places.by_name.find(setting);
    return found == places.by_name.end() ? std::string(setting) : found->second;
  }

  [[nodiscard]] Authentication::Passwords passwords() const { return {password, use_password, look_password}; }

  bool operator==(const Config&) const = default;
};

struct ConfigSources {
  std::string file = {};                                // empty: no file
  std::map<std::string, std::string> environment = {};  // of it, METE_SERVER_…, METE_STORE_… and METE_ESCROW_… are read
  std::map<std::string, std::string> flags = {};        // without dashes: {"max-connections", "100"}
};

// Reads the file, and the files with passwords that it names.
Result<Config> load_config(const ConfigSources& sources);
// The same with the file's text at hand; reads nothing, so that passwords in files stay unread.
Result<Config> parse_config(std::string_view text, const ConfigSources& sources);

// One setting by its name ("server.max_connections") from its text, in the words of environment and flags. Checks the
// value alone, not how it goes with the others.
Result<void> set_value(Config& config, std::string_view name, std::string_view text);

struct ConfigValue {
  std::string_view name;
  std::string value;  // passwords are shown as ***; empty: there is none
};
std::vector<ConfigValue> list_values(const Config& config);

// The names of the settings that differ and take effect only when the server starts again.
std::vector<std::string_view> changes_for_restart(const Config& running, const Config& next);
// What counts once a server that runs with the one has loaded the other: all of `next` but those settings.
Config in_effect(const Config& running, Config next);

}  // namespace mete::server
