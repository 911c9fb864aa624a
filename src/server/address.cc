#include "server/address.h"

#include <arpa/inet.h>

#include <array>

#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::int64_t kPortMax = 65'535;
constexpr std::string_view kHostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

tl::unexpected<Error> refuse(std::string_view text, std::string_view reason) {
  return tl::make_unexpected(Error{
      ErrorCode::kInvalid, wire::quote(text) + " is no address: " + std::string(reason) +
                               "; write 127.0.0.1:6380, [::1]:6380, host.example:6380, unix:/run/mete.sock or off"});
}

using IpBytes = std::array<unsigned char, 16>;

// The bytes of an address in numbers; false if it is none of that family.
bool parse_ip(int family, const std::string& host, IpBytes& bytes) {
  return ::inet_pton(family, host.c_str(), bytes.data()) == 1;
}

Result<Address> parse_unix(std::string_view text) {
  const std::string_view path = text.substr(kUnix.size());
  if (path.empty()) return refuse(text, "the path is missing");
  if (path.size() > kSocketPathBytesMax) {
    return refuse(text, "a path has at most " + std::to_string(kSocketPathBytesMax) + " bytes");
  }
  return Address{.host = {}, .port = 0, .path = std::string(path)};
}

// nullptr where the host is fine, and what is wrong otherwise.
const char* what_is_wrong(const std::string& host, bool is_bracketed) {
  IpBytes bytes{};
  if (is_bracketed) return parse_ip(AF_INET6, host, bytes) ? nullptr : "between the brackets is no IPv6 address";
  if (host.empty()) return "the host is missing (0.0.0.0 or [::] stand for all)";
  if (host.find(':') != std::string::npos) return "an IPv6 address needs brackets";
  if (host.size() > kHostBytesMax || host.find_first_not_of(kHostCharacters) != std::string::npos) {
    return "that is no name of a host";
  }
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  return is_number && !parse_ip(AF_INET, host, bytes) ? "that is no IPv4 address" : nullptr;
}

}  // namespace

bool Address::is_local() const {
  if (is_unix() || wire::equals_ignoring_case(host, "localhost")) return true;
  IpBytes bytes{};
  if (parse_ip(AF_INET, host, bytes)) return bytes[0] == 127;
  constexpr IpBytes kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return parse_ip(AF_INET6, host, bytes) && bytes == kLoopback;
}

Result<Address> parse_address(std::string_view text) {
  if (text.find_first_of(std::string_view("\0,", 2)) != std::string_view::npos) {
    return refuse(text, "it must have neither commas nor zero bytes");
  }
  if (text.starts_with(kUnix)) return parse_unix(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) return refuse(text, "the port is missing");
  const auto port = wire::parse_integer(text.substr(colon + 1));
  if (!port || *port < 0 || *port > kPortMax) return refuse(text, "a port is a number from 0 to 65535");

  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.size() >= 2 && host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  Address address{.host = std::string(host), .port = static_cast<std::uint16_t>(*port), .path = {}};
  if (const char* reason = what_is_wrong(address.host, is_bracketed)) return refuse(text, reason);
  return address;
}

}  // namespace mete::server
