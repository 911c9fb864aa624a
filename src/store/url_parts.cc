#include "store/url_parts.h"

#include <utility>

#include "wire/text.h"
#include "wire/uri.h"

namespace mete::store {

namespace {

tl::unexpected<Error> refuse(std::string reason) {
  return tl::unexpected(Error{ErrorCode::kInvalid, std::move(reason)});
}

// "user:password", "user:", ":password", or nothing.
Result<Credentials> parse_credentials(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return refuse("in front of the '@' stands 'user:password', or ':password' for the default user");
  }
  auto user = wire::percent_decode(text.substr(0, colon), wire::Plus::kIsPlus);
  auto password = wire::percent_decode(text.substr(colon + 1), wire::Plus::kIsPlus);
  if (!user || !password) return refuse("a '%' in the user or the password is written %25");
  if (password->empty()) return refuse("the password is empty; leave out all up to the '@' if there is none");
  return Credentials{.user = std::move(*user), .password = std::move(*password)};
}

Result<net::Address> parse_host(std::string_view text, std::uint16_t default_port) {
  if (text.empty()) return refuse("a host is missing");
  if (text.starts_with("unix:")) return refuse("a host is a name or an IP address, and not a Unix socket");
  const bool has_port = !text.ends_with(']') && text.find(':') != std::string_view::npos;
  auto address = net::parse_address(std::string(text) + (has_port ? "" : ":" + std::to_string(default_port)));
  if (!address) return refuse(address.error().message);
  if (address->port == 0) return refuse("a port is 1 to 65535, and not 0");
  return address;
}

}  // namespace

Result<UrlPieces> split_url(std::string_view rest) {
  UrlPieces pieces;
  const std::string_view all = rest;
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) pieces.query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  const std::size_t slash = rest.find('/');
  pieces.hosts = rest.substr(0, slash);
  if (slash != std::string_view::npos) pieces.path = rest.substr(slash + 1);
  const std::size_t at = pieces.hosts.rfind('@');
  if (at != std::string_view::npos) {
    auto credentials = parse_credentials(pieces.hosts.substr(0, at));
    if (!credentials) return tl::unexpected(credentials.error());
    pieces.credentials = std::move(*credentials);
    pieces.hosts.remove_prefix(at + 1);
  } else if (all.find('@') != std::string_view::npos) {
    // What would be shown as a bad host or path may be a part of the password.
    return refuse("a '/', '?' or '#' in the password is written %2F, %3F or %23, and an '@' elsewhere %40");
  }
  return pieces;
}

Result<std::vector<net::Address>> parse_hosts(std::string_view text, std::uint16_t default_port) {
  std::vector<net::Address> hosts;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    auto address = parse_host(text.substr(0, comma), default_port);
    if (!address) return tl::unexpected(address.error());
    hosts.push_back(std::move(*address));
    if (!is_last) text.remove_prefix(comma + 1);
    if (hosts.size() > kUrlHostsMax) return refuse("more than " + std::to_string(kUrlHostsMax) + " hosts");
  }
  return hosts;
}

bool is_tls_parameter(std::string_view name) {
  return name == "ca" || name == "cert" || name == "key" || name == "verify";
}

Result<void> set_tls_parameter(net::TlsClientOptions& tls, std::string_view name, const std::string& value) {
  if (name == "ca") tls.ca = value;
  if (name == "cert") tls.certificate = value;
  if (name == "key") tls.key = value;
  if (name != "verify") return Done{};
  if (value != "yes" && value != "no") return refuse("verify is yes or no, and not " + wire::quote(value));
  tls.verify = value == "yes";
  return Done{};
}

}  // namespace mete::store
