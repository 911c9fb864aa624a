#include "server/doors/http/browsers.h"

#include <algorithm>
#include <array>

#include "net/address.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::size_t kHostNameBytesMax = 253;

// Without the port, the brackets of IPv6 and the dot that may end a name.
std::string_view host_of(std::string_view header) {
  if (header.starts_with('[')) {
    const std::size_t end = header.find(']');
    return end == std::string_view::npos ? std::string_view() : header.substr(1, end - 1);
  }
  header = header.substr(0, header.find(':'));
  if (header.ends_with('.')) header.remove_suffix(1);
  return header;
}

bool is_localhost(std::string_view host) {
  constexpr std::string_view kLocalhost = "localhost";
  if (wire::equals_ignoring_case(host, kLocalhost)) return true;
  constexpr std::string_view kBelow = ".localhost";
  return host.size() > kBelow.size() && wire::equals_ignoring_case(host.substr(host.size() - kBelow.size()), kBelow);
}

bool is_address(std::string_view host) { return net::is_ip_address(std::string(host)); }

}  // namespace

bool names_this_server(std::string_view header, std::span<const std::string> names) {
  const std::string_view host = host_of(header);
  if (host.empty()) return false;
  if (is_address(host) || is_localhost(host) || host.find('.') == std::string_view::npos) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name == "*" || wire::equals_ignoring_case(name, host); });
}

std::optional<std::string> foreign_page(const wire::HttpRequest& request) {
  if (const auto site = request.header("Sec-Fetch-Site");
      site && !wire::equals_ignoring_case(*site, "same-origin") && !wire::equals_ignoring_case(*site, "none")) {
    return "Sec-Fetch-Site " + wire::quote(*site);
  }
  const auto origin = request.header("Origin");
  if (!origin) return std::nullopt;
  const std::size_t scheme_end = origin->find("://");
  const auto host = request.header("Host");
  const bool is_own =
      scheme_end != std::string_view::npos && host && wire::equals_ignoring_case(origin->substr(scheme_end + 3), *host);
  if (is_own) return std::nullopt;
  return "Origin " + wire::quote(*origin);
}

bool is_from_proxy(const wire::HttpRequest& request) {
  constexpr std::array<std::string_view, 7> kByProxies = {"Forwarded",       "X-Forwarded-For",    "X-Forwarded-Host",
                                                          "X-Forwarded-Uri", "X-Forwarded-Method", "X-Original-URI",
                                                          "X-Real-IP"};
  for (const std::string_view name : kByProxies) {
    if (request.header(name)) return true;
  }
  // The name of an upstream, as nginx sends it. Browsers tell servers of such names nothing, but where TLS is spoken.
  const std::string_view host = host_of(request.header("Host").value_or(""));
  return !host.empty() && !is_address(host) && !is_localhost(host);
}

bool is_host_name(std::string_view name) {
  if (name == "*") return true;
  const auto is_allowed = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_' || byte == '.';
  };
  return !name.empty() && name.size() <= kHostNameBytesMax && std::all_of(name.begin(), name.end(), is_allowed);
}

}  // namespace mete::server
