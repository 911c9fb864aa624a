#include "lab/bench/server_process.h"

#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/errors.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::lab {

namespace {

std::string threads_of(std::uint64_t process_id) { return "/proc/" + std::to_string(process_id) + "/task"; }

}  // namespace

Result<ServerProcess> find_server_process(const BenchOptions& options, cli::Connection& control) {
  const auto info = TRY(control.call({"INFO", "server"}));
  ServerProcess server = {.process_id = options.process_id};
  for (const std::string_view name : {"mete", "valkey", "redis"}) {
    const std::string version = info_field(info.text, fmt::format("{}_version", name));
    if (server.version.empty() && !version.empty()) server.version = fmt::format("{} {}", name, version);
  }
  const auto told = wire::parse_integer(info_field(info.text, "process_id"));
  // The number means something only on the server's own machine.
  if (server.process_id == 0 && told && *told > 0 && control.is_local())
    server.process_id = static_cast<std::uint64_t>(*told);
  if (options.process_id != 0 && !processor_time_ns(options.process_id)) {
    return base::invalid("no process " + std::to_string(options.process_id) +
                         " here: --pid takes the server's, on this machine");
  }
  if (server.process_id != 0 && !processor_time_ns(server.process_id)) server.process_id = 0;
  return server;
}

Result<std::uint64_t> processor_time_ns(std::uint64_t process_id) {
  std::error_code error;
  std::uint64_t total = 0;
  for (const auto& thread : std::filesystem::directory_iterator(threads_of(process_id), error)) {
    std::ifstream file(thread.path() / "schedstat");
    std::uint64_t ns = 0;
    if (file >> ns) total += ns;  // A thread that has ended meanwhile has no file any more.
  }
  if (error) {
    return base::unavailable("cannot read " + threads_of(process_id) + ": " + error.message());
  }
  return total;
}

std::uint64_t own_processor_time_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string info_field(const std::string& info, const std::string& name) {
  const std::string text = "\r\n" + info;
  const std::string start = "\r\n" + name + ":";
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return {};
  const std::size_t from = at + start.size();
  return text.substr(from, text.find("\r\n", from) - from);
}

}  // namespace mete::lab
