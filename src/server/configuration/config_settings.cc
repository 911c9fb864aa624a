#include "server/configuration/config_settings.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/names.h"
#include "base/time_text.h"
#include "base/try.h"
#include "escrow/nodes/names.h"
#include "net/address.h"
#include "server/doors/http/browsers.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;
constexpr std::size_t kGib = 1024 * kMib;
constexpr std::size_t kDayMs = 86'400'000;
constexpr std::size_t kTenYearsMs = 3653 * kDayMs;

constexpr std::string_view kLogFormats = "auto|text|json";
constexpr std::string_view kWhenWiped = "closed|fresh";
constexpr std::string_view kRemovedLimits = "keep|drop";

namespace declared {

using enum SettingKind;
using enum Reload;

constexpr SettingRange kAnyRange = {};
constexpr SettingRange between(std::size_t min, std::size_t max) { return {min, max}; }
constexpr SettingRange zero_or(std::size_t min, std::size_t max) { return {min, max, true}; }

constexpr Setting kSettings[] = {
    {"server.resp", kAddresses, &Config::resp, kAtStart, "Where to listen for RESP clients (redis-cli and its like)"},
    {"server.http", kAddresses, &Config::http, kAtStart, "Where to listen for HTTP clients"},
    {"server.grpc", kAddresses, &Config::grpc, kAtStart, "Where to listen for gRPC clients; off where it is not set"},
    {"server.insecure", kBoolean, &Config::insecure, kAtStart,
     "Listen to the network though whoever connects may do everything"},
    {"server.data", kFolder, &Config::data, kAtStart, "Where the state is kept; \"\" keeps it in memory alone"},
    {"server.password", kSecret, &Config::password, kFromFile,
     "The password that allows everything; a second one in a second line is valid too"},
    {"server.password_file", kFile, &Config::password_file, kFromFile,
     "A file with that password, so that it need not stand on the command line"},
    {"server.use_password", kSecret, &Config::use_password, kFromFile,
     "The password that allows to take, give, hold and look, and nothing that changes limits or the server"},
    {"server.use_password_file", kFile, &Config::use_password_file, kFromFile, "A file with that password"},
    {"server.look_password", kSecret, &Config::look_password, kFromFile,
     "The password that allows to look at limits, meters, holds and metrics, and nothing more"},
    {"server.look_password_file", kFile, &Config::look_password_file, kFromFile, "A file with that password"},
    {"server.use_without_force", kBoolean, &Config::use_without_force, kAtOnce,
     "server.use_password does not allow takes by FORCE"},
    {"server.use_without_give", kBoolean, &Config::use_without_give, kAtOnce,
     "server.use_password does not allow to give back"},
    {"server.http_hosts", kHosts, &Config::http_hosts, kAtStart,
     "Names in Host, besides addresses, localhost and names without dots, by which clients without a password may "
     "call the HTTP API; * is any"},
    {"server.tls.cert", kFile, &Config::tls_cert, kAtStart,
     "The certificate chain (PEM) of all TCP listeners; without one they speak plain text"},
    {"server.tls.key", kFile, &Config::tls_key, kAtStart, "The certificate's private key (PEM)"},
    {"server.tls.client_ca", kFile, &Config::tls_client_ca, kAtStart,
     "Only clients with a certificate from one of these authorities (PEM) may connect"},
    {"server.threads", kInteger, &Config::threads, kAtStart,
     "Threads that serve connections; 0: one for every two cores", between(0, 1024)},
    {"server.max_connections", kInteger, &Config::max_connections, kAtOnce,
     "Connections at a time, of RESP, HTTP and gRPC each; beyond them a few are kept for the admin and for questions "
     "about "
     "health",
     between(1, 1'000'000)},
    {"server.authentication_timeout", kDuration, &Config::authentication_timeout, kAtStart,
     "A connection that has not shown a password by then, where there is one, or has not finished its TLS handshake, "
     "is closed",
     between(1000, kDayMs)},
    {"server.idle_timeout", kDuration, &Config::idle_timeout, kAtStart,
     "A connection that is silent for so long is closed; 0: never", zero_or(1000, 365 * kDayMs)},
    {"server.grpc_connection_age", kDuration, &Config::grpc_connection_age, kAtStart,
     "A connection of gRPC of about this age is ended once its calls are answered (GOAWAY), so that clients spread "
     "over "
     "servers that were added; 0: never",
     zero_or(1000, 365 * kDayMs)},
    {"server.drain_time", kDuration, &Config::drain_time, kAtStart,
     "After SIGTERM the server says for so long that it is not ready, and serves on, before it stops: those who send "
     "it "
     "requests look elsewhere meanwhile",
     zero_or(1, kDayMs)},
    {"server.query_buffer_max", kSize, &Config::query_buffer_max, kAtStart,
     "Bytes of one RESP command, and of all that a client has sent ahead", between(16 * kKib, kGib)},
    {"server.bulk_max", kSize, &Config::bulk_max, kAtStart, "Bytes of one argument of a RESP command",
     between(kKib, kGib)},
    {"server.arguments_max", kInteger, &Config::arguments_max, kAtStart, "Arguments of one RESP command",
     between(128, 1'048'576)},
    {"server.pipeline_max", kInteger, &Config::pipeline_max, kAtStart,
     "Commands of one connection that are answered in a row; then others have their turn", between(1, 1'000'000)},
    {"server.output_buffer_max", kSize, &Config::output_buffer_max, kAtStart,
     "Bytes of replies that a client has not read yet; beyond that its commands wait, and if it reads nothing for 30s "
     "it is disconnected",
     between(64 * kKib, 16 * kGib)},
    {"server.clients_memory_max", kSize, &Config::clients_memory_max, kAtOnce,
     "Bytes of the buffers of all connections; beyond that those with the largest are disconnected; 0: no ceiling",
     zero_or(kMib, 1024 * kGib)},
    {"server.http_header_max", kSize, &Config::http_header_max, kAtStart, "Bytes of the header of an HTTP request",
     between(kKib, 16 * kMib)},
    {"server.http_body_max", kSize, &Config::http_body_max, kAtStart, "Bytes of the body of an HTTP request",
     between(kKib, kGib)},
    {"server.waiters_max", kInteger, &Config::waiters_max, kAtStart,
     "Takes that may wait at a time; of one address half of what others leave", between(0, 10'000'000)},
    {"server.max_memory", kSize, &Config::max_memory, kAtStart,
     "Above so many bytes new meters, holds and ids are refused, and what exists goes on working; 0: no ceiling",
     zero_or(4 * kMib, 1024 * kGib)},
    {"server.snapshot_after", kSize, &Config::snapshot_after, kAtStart,
     "A snapshot is written when the journal has grown by so many bytes since the last one, and beyond its size; 0: "
     "never for that",
     zero_or(kMib, 1024 * kGib)},
    {"server.snapshot_every", kDuration, &Config::snapshot_every, kAtStart,
     "A snapshot is written when the last one is so old and something has been written since; 0: never for that",
     zero_or(1000, 365 * kDayMs)},
    {"server.disk_reserve", kSize, &Config::disk_reserve, kAtStart,
     "With less than this free on its disk the server refuses changes, until there is twice as much; of a small disk a "
     "sixteenth at most; 0: it goes on until a write fails",
     zero_or(kMib, 1024 * kGib)},
    {"server.clock_step_max", kDuration, &Config::clock_step_max, kAtStart,
     "A step of the machine's clock, or of Redis's or PostgreSQL's where the limits are there, by more than this is "
     "not "
     "followed, and a start from data that is as far ahead of the machine's is refused; 0: every step is followed",
     zero_or(1000, 365 * kDayMs)},
    {"server.removed_limits", kChoice, &Config::removed_limits, kAtOnce,
     "A limit that leaves the file keeps its usage and its holds for when it is back, or is dropped with them",
     kAnyRange, kRemovedLimits},
    {"server.removed_limits_max", kInteger, &Config::removed_limits_max, kAtOnce,
     "A reload by which more limits would leave the file is refused: the file may have been cut short",
     between(0, 1'000'000)},
    {"server.log_format", kChoice, &Config::log_format, kAtOnce,
     "Lines for people or JSON; auto: for people on a terminal, JSON elsewhere", kAnyRange, kLogFormats},
    {"server.log_level", kChoice, &Config::log_level, kAtOnce, "The least level that is logged", kAnyRange,
     base::kLogLevelNames},
    {"server.slowlog_threshold", kDuration, &Config::slowlog_threshold, kAtOnce,
     "Commands that take longer are kept for SLOWLOG; 0: none are", zero_or(1, kDayMs)},
    {"store.url", kUrl, &Config::store_url, kAtStart,
     "The store, as \"embedded:./mete-data\", \"redis://127.0.0.1:6379\" or \"mete://127.0.0.1:6380\"; instead of "
     "server.data",
     kAnyRange, "", "store"},
    {"store.wait", kDuration, &Config::store_wait, kAtStart,
     "A start waits so long for a store that does not answer; 0: it fails at once", zero_or(1000, kDayMs), "",
     "store-wait"},
    {"store.local_share", kInteger, &Config::local_share, kAtStart,
     "Per cent of a limit with on_fail local that this server may admit by itself while its store is away: of n "
     "servers "
     "100 / n keeps all together within the limit",
     between(1, 100), "", "local-share"},
    {"store.when_wiped", kChoice, &Config::when_wiped, kAtOnce,
     "What takes get once the store has lost what it had counted: closed, an error until fresh meters admit no more "
     "than the lost ones (of a stock: for good), or fresh, whatever those admit",
     kAnyRange, kWhenWiped, "when-wiped"},
    {"store.id_retention", kDuration, &Config::id_retention, kAtStart,
     "How long operation ids and finished holds are remembered", between(1000, kTenYearsMs)},
    {"store.ids_max", kInteger, &Config::ids_max, kAtStart, "How many of them at most", between(1, 1'000'000'000)},
    {"envoy.config", kFolder, &Config::envoy_config, kAtStart,
     "The folder with the rules of envoyproxy/ratelimit, or a file of them: what Envoy asks by gRPC; they are read "
     "again when they change",
     kAnyRange, "", "envoy"},
    {"envoy.response_headers", kBoolean, &Config::envoy_response_headers, kAtStart,
     "What Envoy is answered has RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset for its client, of the "
     "tightest "
     "descriptor",
     kAnyRange, "", "envoy-response-headers"},
    {"escrow.shared", kUrl, &Config::escrow_shared, kAtStart,
     "The store that the nodes of a cluster share, as \"etcd://127.0.0.1:2379\"; limits of scope escrow are decided "
     "from shares that are drawn from it"},
    {"escrow.node", kName, &Config::escrow_node, kAtStart, "This node's name: no other node of the cluster has it"},
};

}  // namespace declared

struct SizeUnit {
  std::string_view name;
  std::size_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {{"gb", kGib}, {"mb", kMib}, {"kb", kKib}, {"b", 1}};

std::string size_text(std::size_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes != 0 && unit.bytes > 1 && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
}

std::string number_text(const Setting& setting, std::size_t number) {
  using enum SettingKind;
  if (setting.kind == kSize) return size_text(number);
  if (setting.kind == kDuration) {
    return base::duration_text(std::chrono::milliseconds(static_cast<std::int64_t>(number)));
  }
  return std::to_string(number);
}

Result<std::size_t> check_range(const Setting& setting, std::size_t number, std::string_view text) {
  const SettingRange& range = setting.range;
  if (number == 0 && range.is_zero_special) return number;
  if (number >= range.min && number <= range.max) return number;
  return base::invalid(wire::quote(text) + " is out of range; it must be " + range_text(setting));
}

Result<std::size_t> parse_count(const Setting& setting, std::string_view text) {
  const auto number = wire::parse_integer(text);
  if (!number) return base::invalid(wire::quote(text) + " is no integer; it must be " + range_text(setting));
  if (*number < 0) return base::invalid(wire::quote(text) + " is out of range; it must be " + range_text(setting));
  return check_range(setting, static_cast<std::size_t>(*number), text);
}

Result<std::size_t> parse_size(const Setting& setting, std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = wire::parse_integer(text.substr(0, digits));
  std::size_t unit_bytes = digits == text.size() ? 1 : 0;
  for (const SizeUnit& unit : kSizeUnits) {
    if (wire::equals_ignoring_case(text.substr(digits), unit.name)) unit_bytes = unit.bytes;
  }
  std::int64_t bytes = 0;
  if (!number || unit_bytes == 0 || __builtin_mul_overflow(*number, unit_bytes, &bytes)) {
    return base::invalid(wire::quote(text) +
                         " is no size; write bytes, or 64kb, 1mb or 2gb (1kb is 1024 bytes); it must be " +
                         range_text(setting));
  }
  return check_range(setting, static_cast<std::size_t>(bytes), text);
}

Result<Duration> parse_duration(const Setting& setting, std::string_view text) {
  auto duration = TRY(wire::parse_duration(text));
  TRY(check_range(setting, static_cast<std::size_t>(duration.ms()), text));
  return duration;
}

Result<bool> parse_boolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return base::invalid(wire::quote(text) + " is neither true nor false");
}

// "" and "off" stand for no address at all.
bool is_off(std::string_view addresses) { return addresses.empty() || addresses == "off"; }

Result<std::vector<std::string>> parse_addresses(std::string_view text) {
  std::vector<std::string> addresses;
  if (is_off(text)) return addresses;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    TRY(net::parse_address(one));
    if (std::find(addresses.begin(), addresses.end(), one) != addresses.end()) {
      return base::invalid(wire::quote(one) + " stands there twice");
    }
    addresses.emplace_back(one);
    if (comma == std::string_view::npos) return addresses;
    text.remove_prefix(comma + 1);
  }
}

// Those of server.http_hosts; "" and "off" stand for none.
Result<std::vector<std::string>> parse_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  if (is_off(text)) return hosts;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    if (!is_host_name(one)) {
      return base::invalid(wire::quote(one) + " is no name of a host; write it without scheme and port, or * for any");
    }
    hosts.emplace_back(one);
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

// A line each: no empty one, and not too many.
Result<void> check_secret(std::string_view text) {
  const auto lines = password_lines(text);
  if (lines.size() > kPasswordLinesMax) {
    return base::invalid("it has a line too many: one password, or two while one is being replaced");
  }
  for (const std::string_view line : lines) {
    if (line.empty()) return base::invalid("it has an empty line, and a password is not empty");
    if (line.size() > kPasswordBytesMax) {
      return base::invalid("a password has at most " + std::to_string(kPasswordBytesMax) + " bytes");
    }
  }
  return {};
}

bool is_scheme(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string_view::npos;
}

Result<void> check_string(const Setting& setting, std::string_view text) {
  using enum SettingKind;
  if (text.find('\0') != std::string_view::npos) return base::invalid("it must not have zero bytes");
  // A variable that turns out empty must not take a password away from the file in silence.
  const bool needs_text =
      setting.kind == kSecret || setting.kind == kFile || setting.kind == kUrl || setting.kind == kName;
  if (text.empty() && needs_text) return base::invalid("it is empty; leave it out if none is meant");
  if (setting.kind == kChoice && !base::named<int>(setting.choices, text)) {
    return base::invalid(wire::quote(text) + " is unknown; it must be " + range_text(setting));
  }
  if (setting.kind == kSecret) {
    TRY(check_secret(text));
  }
  const std::size_t colon = text.find(':');
  if (setting.kind == kUrl && (colon == std::string_view::npos || !is_scheme(text.substr(0, colon)))) {
    return base::invalid(R"(that is no URL; write "embedded:DIRECTORY", "etcd://HOST:PORT" or the like)");
  }
  if (setting.kind == kName && !escrow::is_node_name(text)) {
    return base::invalid(wire::quote(text) + " is no name of a node; it must be " + range_text(setting));
  }
  if (setting.kind == kAddress && !is_off(text)) {
    TRY(net::parse_address(text));
  }
  return {};
}

std::string string_text(const Setting& setting, const std::string& value) {
  using enum SettingKind;
  if (setting.kind == kSecret) return value.empty() ? "" : "***";
  return setting.kind == kUrl ? without_password(value) : value;
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 14 does not find this by itself

// Puts what was parsed into its member, or hands on the error.
template <class T>
Result<void> store(T& member, Result<T> parsed) {
  if (!parsed.has_value()) return std::move(parsed).error();
  member = std::move(*parsed);
  return {};
}

}  // namespace

std::span<const Setting> settings() { return declared::kSettings; }

std::string environment_name(const Setting& setting) {
  std::string name = "METE_" + std::string(setting.name);
  for (char& letter : name) {
    if (letter == '.') letter = '_';
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return name;
}

std::string flag_name(const Setting& setting) {
  if (!setting.own_flag.empty()) return std::string(setting.own_flag);
  // Of these the last word alone says nothing: --shared.
  std::string name(setting.name.starts_with("escrow.") ? setting.name
                                                       : setting.name.substr(setting.name.find('.') + 1));
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return letter == '.' || letter == '_'; }, '-');
  return name;
}

std::string default_text(const Setting& setting) { return value_text(Config{}, setting); }

std::string range_text(const Setting& setting) {
  using enum SettingKind;
  if (setting.kind == kChoice) return base::name_list(setting.choices, "");
  if (setting.kind == kName) {
    return "1 to " + std::to_string(escrow::kNodeNameBytesMax) + " letters, digits, '.', '_' and '-'";
  }
  if (setting.kind != kInteger && setting.kind != kSize && setting.kind != kDuration) return {};
  const std::string range = number_text(setting, setting.range.min) + " to " + number_text(setting, setting.range.max);
  return setting.range.is_zero_special ? "0 or " + range : range;
}

std::string without_password(std::string url) {
  const std::size_t start = url.find("//");
  const std::size_t end = url.rfind('@');
  const bool has_user = start != std::string::npos && end != std::string::npos && end >= start + 2;
  if (has_user) url = url.substr(0, start + 2) + "***" + url.substr(end);
  constexpr std::string_view kPassword = "password=";
  for (std::size_t at = url.find(kPassword); at != std::string::npos; at = url.find(kPassword, at + 1)) {
    const std::size_t value = at + kPassword.size();
    url.replace(value, std::min(url.find('&', value), url.size()) - value, "***");
  }
  return url;
}

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : settings()) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

Result<void> set_value(Config& config, const Setting& setting, std::string_view text) {
  using enum SettingKind;
  const Overloaded set{
      [&](std::string Config::*member) -> Result<void> {
        TRY(check_string(setting, text));
        config.*member = std::string(setting.kind == kAddress && is_off(text) ? "" : text);
        return {};
      },
      [&](bool Config::*member) { return store(config.*member, parse_boolean(text)); },
      [&](std::size_t Config::*member) {
        return store(config.*member, setting.kind == kSize ? parse_size(setting, text) : parse_count(setting, text));
      },
      [&](Duration Config::*member) { return store(config.*member, parse_duration(setting, text)); },
      [&](std::vector<std::string> Config::*member) {
        return store(config.*member, setting.kind == kHosts ? parse_hosts(text) : parse_addresses(text));
      },
  };
  return std::visit(set, setting.member);
}

std::string value_text(const Config& config, const Setting& setting) {
  const Overloaded print{
      [&](std::string Config::*member) { return string_text(setting, config.*member); },
      [&](bool Config::*member) { return std::string(config.*member ? "true" : "false"); },
      [&](std::size_t Config::*member) { return number_text(setting, config.*member); },
      [&](Duration Config::*member) { return base::duration_text(config.*member); },
      [&](std::vector<std::string> Config::*member) {
        std::string text;
        for (const std::string& address : config.*member) text += (text.empty() ? "" : ",") + address;
        return text.empty() ? "off" : text;
      },
  };
  return std::visit(print, setting.member);
}

}  // namespace mete::server
