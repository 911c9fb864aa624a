#include "store/network/server_url.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "wire/text.h"
#include "wire/uri.h"

namespace mete::store {

namespace {

Error refuse(std::string_view reason) { return base::invalid(std::string(reason)); }

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
  const bool has_port = !text.ends_with(']') && text.find(':') != std::string_view::npos;
  auto address = net::parse_address(std::string(text) + (has_port ? "" : ":" + std::to_string(default_port)));
  if (!address) return refuse(address.error().message);
  if (address->port == 0) return refuse("a port is 1 to 65535, and not 0");
  return address;
}

Result<void> set_timeout(ServerUrl& url, const std::string& text) {
  return parse_timeout(text).map([&](Duration timeout) { url.timeout = timeout; });
}

Result<void> set_verify(ServerUrl& url, const std::string& text) {
  if (text != "yes" && text != "no") return refuse("verify is yes or no, and not " + wire::quote(text));
  url.tls.verify = text == "yes";
  return {};
}

template <std::string net::TlsClientOptions::*File>
Result<void> set_file(ServerUrl& url, const std::string& text) {
  url.tls.*File = text;
  return {};
}

struct Parameter {
  std::string_view name;
  Result<void> (*set)(ServerUrl&, const std::string&);
  bool needs_tls = false;
};
constexpr Parameter kParameters[] = {
    {.name = "timeout", .set = set_timeout},
    {.name = "ca", .set = set_file<&net::TlsClientOptions::ca>, .needs_tls = true},
    {.name = "cert", .set = set_file<&net::TlsClientOptions::certificate>, .needs_tls = true},
    {.name = "key", .set = set_file<&net::TlsClientOptions::key>, .needs_tls = true},
    {.name = "verify", .set = set_verify, .needs_tls = true},
};

}  // namespace

Result<Duration> parse_timeout(std::string_view text) {
  const auto timeout = wire::parse_duration(text);
  if (!timeout) return refuse("timeout: " + timeout.error().message);
  if (*timeout < kTimeoutMin || *timeout > kTimeoutMax) {
    return refuse("timeout is " + base::duration_text(kTimeoutMin) + " to " + base::duration_text(kTimeoutMax) +
                  ", and not " + base::duration_text(*timeout));
  }
  return *timeout;
}

Result<UrlPieces> split_url(std::string_view rest) {
  UrlPieces pieces;
  const std::string_view whole = rest;
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) pieces.query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  const std::size_t slash = rest.find('/');
  pieces.hosts = rest.substr(0, slash);
  if (slash != std::string_view::npos) pieces.path = rest.substr(slash + 1);
  const std::size_t at = pieces.hosts.rfind('@');
  if (at != std::string_view::npos) {
    pieces.credentials = TRY(parse_credentials(pieces.hosts.substr(0, at)));
    pieces.hosts.remove_prefix(at + 1);
  } else if (whole.find('@') != std::string_view::npos) {
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
    auto address = TRY(parse_host(text.substr(0, comma), default_port));
    hosts.push_back(std::move(address));
    if (!is_last) text.remove_prefix(comma + 1);
    if (hosts.size() > kUrlHostsMax) return refuse("more than " + std::to_string(kUrlHostsMax) + " hosts");
  }
  return hosts;
}

Result<bool> set_parameter(ServerUrl& url, std::string_view name, const std::string& value) {
  const auto* const parameter = std::ranges::find(kParameters, name, &Parameter::name);
  if (parameter == std::end(kParameters)) return false;
  if (parameter->needs_tls && !url.has_tls) {
    return refuse("the parameter " + std::string(name) + " needs TLS, which is an 's' more in the scheme");
  }
  return parameter->set(url, value).map([] { return true; });
}

Result<void> parse_parameters(std::string_view query, ServerUrl& url) {
  const auto given = wire::split_query(query);
  if (!given) return refuse("its parameters, behind the '?', are not written as name=value&name=value");
  for (const auto& [name, value] : *given) {
    if (value.empty()) return refuse("the parameter " + name + " has no value");
    const auto is_set = TRY(set_parameter(url, name, value));
    if (!is_set) {
      return refuse("it knows no parameter " + wire::quote(name) + "; there are timeout, ca, cert, key and verify");
    }
  }
  return {};
}

Result<std::unique_ptr<net::TlsClient>> load_tls(const ServerUrl& url) {
  if (!url.has_tls) return nullptr;
  return net::TlsClient::load(url.tls, kUrlTlsNames).map([](net::TlsClient client) {
    return std::make_unique<net::TlsClient>(std::move(client));
  });
}

}  // namespace mete::store
