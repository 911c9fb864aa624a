#include "lab/cluster/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <system_error>

#include "base/errors.h"
#include "base/try.h"
#include "cli/frame/text.h"
#include "net/listener.h"

namespace mete::lab {

namespace {

net::Address address_with(std::uint16_t port) { return {.host = "127.0.0.1", .port = port, .path = {}}; }

}  // namespace

Result<Directory> Directory::make(const std::string& given) {
  std::error_code error;
  if (!given.empty()) {
    std::filesystem::create_directories(given, error);
    const auto path = std::filesystem::absolute(given, error);
    if (!error && std::filesystem::is_directory(path, error)) return Directory(path.string(), false);
    return base::invalid("cannot make the directory " + cli::shown(given) + ": " +
                         (error ? error.message() : "it is a file"));
  }
  std::string path = (std::filesystem::temp_directory_path(error) / "mete-cluster-XXXXXX").string();
  if (!error && ::mkdtemp(path.data()) != nullptr) return Directory(path, true);
  return base::unavailable("cannot make a temporary directory (" + cli::shown(path) +
                           "): " + std::generic_category().message(errno) + "; --data names another");
}

Directory::~Directory() {
  std::error_code ignored;  // nobody is left to care
  if (is_temporary_) std::filesystem::remove_all(path_, ignored);
}

Result<void> Ports::keep(std::uint16_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto port = static_cast<std::uint16_t>(first + i);
    auto sockets = net::listen_on(address_with(port));
    if (!sockets) {
      return base::unavailable(
          fmt::format("{}; --port takes the first of {} free ports in a row", sockets.error().message, count));
    }
    std::move(sockets->begin(), sockets->end(), std::back_inserter(sockets_));
  }
  return {};
}

Result<std::vector<std::uint16_t>> Ports::find(std::size_t count) {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < count; ++i) {
    auto sockets = TRY(net::listen_on(address_with(0)));
    const auto address = TRY(net::parse_address(net::local_address(sockets.front().get()).to_string()));
    ports.push_back(address.port);
    std::move(sockets.begin(), sockets.end(), std::back_inserter(sockets_));
  }
  return ports;
}

std::string find_program(const std::string& name, const cli::Console& console) {
  const auto path = console.environment.find("PATH");
  if (path == console.environment.end()) return {};
  std::istringstream folders(path->second);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace mete::lab
