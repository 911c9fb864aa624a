#include "server/running/banner.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace mete::server {

namespace {

constexpr std::string_view kUnix = "unix:";

bool is_unix(std::string_view address) { return address.starts_with(kUnix); }

std::string list(const std::vector<std::string>& addresses, bool has_tls) {
  std::string text;
  for (const std::string& address : addresses) {
    text += (text.empty() ? "" : ", ") + address + (has_tls && !is_unix(address) ? " (TLS)" : "");
  }
  return text;
}

std::string data_text(const Banner& banner) {
  if (!banner.data_directory.empty()) return "durable in " + banner.data_directory;
  return banner.store_url.empty() ? "memory only: lost when the server stops" : banner.store_url;
}

// A word of a shell.
std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+=,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

// How redis-cli reaches the address from this machine.
std::string place_options(const std::string& address) {
  if (is_unix(address)) return "-s " + shell_word(address.substr(kUnix.size()));
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  if (host == "::") host = "::1";
  const bool is_usual = host == "127.0.0.1" || host == "0.0.0.0";
  return (is_usual ? "" : "-h " + host + " ") + "-p " + address.substr(colon + 1);
}

std::string client_line(const Banner& banner, const std::string& address) {
  std::string line = "redis-cli " + place_options(address);
  if (banner.has_tls && !is_unix(address)) {
    line += " --tls --insecure";
    if (banner.wants_client_certificate) line += " --cert FILE --key FILE";
  }
  return banner.needs_password ? line + " --askpass" : line;
}

}  // namespace

std::string line_to_try(const Banner& banner) {
  if (banner.resp.empty()) return {};
  const auto tcp = std::find_if_not(banner.resp.begin(), banner.resp.end(), is_unix);
  const std::string client = client_line(banner, tcp == banner.resp.end() ? banner.resp.front() : *tcp);
  if (!banner.limits.empty()) return fmt::format("{} TAKE {} alice", client, shell_word(banner.limits.front()));
  return fmt::format("{0} LIMIT SET api BUCKET 10 PER 1m && {0} TAKE api alice", client);
}

std::string banner_text(const Banner& banner) {
  std::string text = fmt::format("Mete {}\n", METE_VERSION);
  if (!banner.resp.empty()) text += fmt::format("  RESP   {}\n", list(banner.resp, banner.has_tls));
  if (!banner.http.empty()) text += fmt::format("  HTTP   {}\n", list(banner.http, banner.has_tls));
  if (!banner.grpc.empty()) text += fmt::format("  gRPC   {}\n", list(banner.grpc, banner.has_tls));
  text += fmt::format("  data   {}\n", data_text(banner));
  text += fmt::format("  limits {}\n", banner.limits.empty() ? "none yet" : std::to_string(banner.limits.size()));
  if (!banner.resp.empty()) text += fmt::format("Try: {}\n", line_to_try(banner));
  return text;
}

void log_banner(const Banner& banner, base::Log& log) {
  log.info("listening", {{"version", METE_VERSION},
                         {"resp", list(banner.resp, banner.has_tls)},
                         {"http", list(banner.http, banner.has_tls)},
                         {"grpc", list(banner.grpc, banner.has_tls)},
                         {"data", data_text(banner)},
                         {"limits", banner.limits.size()},
                         {"try", line_to_try(banner)}});
}

}  // namespace mete::server
