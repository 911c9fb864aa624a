#include "store/postgres/conninfo.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "store/postgres/sql_error.h"
#include "wire/text.h"

namespace mete::store::postgres {

namespace {

constexpr std::string_view kDefaultPort = "5432";
constexpr std::int64_t kPortMax = 65535;

tl::unexpected<std::string> refuse(std::string reason) { return tl::unexpected(std::move(reason)); }

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string value_of(const Options& options, std::string_view keyword) {
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

}  // namespace

tl::expected<Conninfo, std::string> parse_conninfo(const std::string& url) {
  char* message = nullptr;
  const Options options(PQconninfoParse(url.c_str(), &message));
  if (!options) {
    std::string reason = message == nullptr ? "no memory" : one_line(message);
    PQfreemem(message);
    return refuse(std::move(reason));
  }
  const std::vector<std::string> names = split_list(value_of(options, "host"));
  const std::vector<std::string> addresses = split_list(value_of(options, "hostaddr"));
  const std::vector<std::string> ports = split_list(value_of(options, "port"));
  const std::size_t count = std::max(names.size(), addresses.size());
  if (count > kHostsMax) return refuse("more than " + std::to_string(kHostsMax) + " hosts");
  if (!names.empty() && !addresses.empty() && names.size() != addresses.size()) {
    return refuse("as many addresses are needed in hostaddr as there are hosts");
  }
  if (ports.size() > 1 && ports.size() != count) return refuse("as many ports are needed as there are hosts");
  if (!std::ranges::all_of(ports, is_port)) return refuse("a port is 1 to 65535");
  Conninfo conninfo = {.options = value_of(options, "options")};
  for (std::size_t i = 0; i < count; ++i) {
    Host host = {.port = port_of(ports, i)};
    if (!names.empty()) host.name = names[i];
    if (!addresses.empty()) host.address = addresses[i];
    if (count > 1 && host.name.empty() && host.address.empty()) return refuse("a host is missing");
    conninfo.hosts.push_back(std::move(host));
  }
  return conninfo;
}

}  // namespace mete::store::postgres
