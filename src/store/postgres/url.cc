#include "store/postgres/url.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "store/network/server_url.h"
#include "store/postgres/sql_result.h"
#include "wire/text.h"
#include "wire/uri.h"

namespace mete::store::postgres {

namespace {

constexpr std::string_view kDefaultPort = "5432";
constexpr std::int64_t kPortMax = 65535;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using ConninfoOptions = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string value_of(const ConninfoOptions& options, std::string_view keyword) {
  for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
    if (each->keyword == keyword) return each->val == nullptr ? std::string() : std::string(each->val);
  }
  return {};
}

// Of an empty list: none.
std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
    if (list.empty()) parts.emplace_back();
  }
  return parts;
}

std::string port_of(const std::vector<std::string>& ports, std::size_t host) {
  if (ports.empty()) return std::string(kDefaultPort);
  const std::string& port = ports.size() == 1 ? ports[0] : ports[host];
  return port.empty() ? std::string(kDefaultPort) : port;
}

bool is_port(const std::string& text) {
  const auto number = wire::parse_integer(text);
  return text.empty() || (number && *number > 0 && *number <= kPortMax);
}

constexpr std::string_view kSchemes[] = {"postgres://", "postgresql://"};

Error refuse(std::string_view reason) {
  return base::invalid("the URL of PostgreSQL is wrong: " + std::string(reason));
}

std::size_t scheme_length(std::string_view text) {
  for (const std::string_view scheme : kSchemes) {
    if (text.starts_with(scheme)) return scheme.size();
  }
  return 0;
}

// Views into the URL. The user has its '@', the query not its '?'.
struct Pieces {
  std::string_view scheme;
  std::string_view user = {};
  std::string_view place = {};  // hosts and database
  std::string_view query = {};
};

Result<Pieces> split(std::string_view text) {
  Pieces pieces = {.scheme = text.substr(0, scheme_length(text))};
  text.remove_prefix(pieces.scheme.size());
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::size_t at = authority.find('@');
  if (at != std::string_view::npos) pieces.user = text.substr(0, at + 1);
  text.remove_prefix(pieces.user.size());
  // What would be shown as a bad host or database may be a part of the password.
  if (text.find('@') != std::string_view::npos) {
    return refuse("a '/', '?', '#' or '@' in the password is written %2F, %3F, %23 or %40, and an '@' elsewhere %40");
  }
  const std::size_t question = text.find('?');
  pieces.place = text.substr(0, question);
  if (question != std::string_view::npos) pieces.query = text.substr(question + 1);
  return pieces;
}

Result<void> set_timeout(Url& url, std::string_view text) {
  const auto timeout = parse_timeout(text);
  if (!timeout) return refuse(timeout.error().message);
  url.timeout = *timeout;
  return {};
}

Result<void> set_pool(Url& url, std::string_view text) {
  const auto number = wire::parse_integer(text);
  if (!number || *number < 1 || *number > static_cast<std::int64_t>(kPoolMax)) {
    return refuse("pool is a number of connections, 1 to " + std::to_string(kPoolMax) + ", and not " +
                  wire::quote(text));
  }
  url.pool = static_cast<std::size_t>(*number);
  return {};
}

// Takes Mete's own parameters out; `others` is the query without them, as it was written.
Result<void> take_parameters(std::string_view query, Url& url, std::string& others) {
  bool has_timeout = false;
  bool has_pool = false;
  while (!query.empty()) {
    const std::string_view written = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(written.size() + 1, query.size()));
    const std::size_t equals = written.find('=');
    const std::string_view name = written.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : written.substr(equals + 1);
    bool& has_it = name == "timeout" ? has_timeout : has_pool;
    if (name != "timeout" && name != "pool") {
      others += others.empty() ? '?' : '&';
      others += written;
      continue;
    }
    if (std::exchange(has_it, true)) return refuse(std::string(name) + " is given twice");
    TRY(name == "timeout" ? set_timeout(url, value) : set_pool(url, value));
  }
  return {};
}

// libpq's messages quote what they are about.
std::string without_passwords(const Pieces& pieces, std::string_view query) {
  std::string text = std::string(pieces.scheme) + (pieces.user.empty() ? "" : "user@") + std::string(pieces.place);
  while (!query.empty()) {
    const std::size_t end = query.find('&', 1);
    const std::string_view written = query.substr(0, end);
    const bool is_secret = written.substr(1).starts_with("password=") || written.substr(1).starts_with("sslpassword=");
    text += is_secret ? written.substr(0, written.find('=') + 1) : written;
    query.remove_prefix(written.size());
  }
  return text;
}

}  // namespace

Result<Conninfo, std::string> parse_conninfo(const std::string& url) {
  char* message = nullptr;
  const ConninfoOptions options(PQconninfoParse(url.c_str(), &message));
  if (!options) {
    std::string reason = message == nullptr ? "no memory" : one_line(message);
    PQfreemem(message);
    return reason;
  }
  const std::vector<std::string> names = split_list(value_of(options, "host"));
  const std::vector<std::string> addresses = split_list(value_of(options, "hostaddr"));
  const std::vector<std::string> ports = split_list(value_of(options, "port"));
  const std::size_t count = std::max(names.size(), addresses.size());
  if (count > kHostsMax) return std::string("more than " + std::to_string(kHostsMax) + " hosts");
  if (!names.empty() && !addresses.empty() && names.size() != addresses.size()) {
    return std::string("as many addresses are needed in hostaddr as there are hosts");
  }
  if (ports.size() > 1 && ports.size() != count) return std::string("as many ports are needed as there are hosts");
  if (!std::ranges::all_of(ports, is_port)) return std::string("a port is 1 to 65535");
  Conninfo conninfo = {.options = value_of(options, "options")};
  for (std::size_t i = 0; i < count; ++i) {
    Host host = {.port = port_of(ports, i)};
    if (!names.empty()) host.name = names[i];
    if (!addresses.empty()) host.address = addresses[i];
    if (count > 1 && host.name.empty() && host.address.empty()) return std::string("a host is missing");
    conninfo.hosts.push_back(std::move(host));
  }
  return conninfo;
}

bool is_postgres_url(std::string_view text) { return scheme_length(text) > 0; }

Result<Url> parse_url(std::string_view text) {
  if (!is_postgres_url(text)) return refuse("it begins with postgres:// or postgresql://");
  if (text.find('\0') != std::string_view::npos) return refuse("it holds a NUL");
  const auto pieces = TRY(split(text));
  if (!wire::percent_decode(pieces.user, wire::Plus::kIsPlus)) {
    return refuse("a '%' in the user or the password is written %25");
  }
  Url url;
  std::string query;
  TRY(take_parameters(pieces.query, url, query));
  url.libpq = std::string(pieces.scheme) + std::string(pieces.user) + std::string(pieces.place) + query;
  if (const auto shown = parse_conninfo(without_passwords(pieces, query)); !shown) return refuse(shown.error());
  if (!parse_conninfo(url.libpq)) return refuse("the user or a password in it is not written as a URL has it");
  return url;
}

}  // namespace mete::store::postgres
