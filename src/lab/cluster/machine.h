// What a cluster takes of this machine: a directory, ports, and programs.
//
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/frame/command.h"
#include "net/descriptor.h"

namespace mete::lab {

// The directory of a cluster: one that was given stays, a temporary one is removed at the end.
class Directory {
 public:
  // `given` empty: a temporary one.
  static Result<Directory> make(const std::string& given);
  Directory(Directory&& other) noexcept
      : path_(std::move(other.path_)), is_temporary_(std::exchange(other.is_temporary_, false)) {}
  Directory& operator=(Directory&&) = delete;
  ~Directory();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_temporary() const { return is_temporary_; }

 private:
  Directory(std::string path, bool is_temporary) : path_(std::move(path)), is_temporary_(is_temporary) {}

  std::string path_;
  bool is_temporary_;
};

// Ports that are kept for a cluster until its processes are about to start.
class Ports {
 public:
  // The ports from `first` on; an error names the one that is in use.
  Result<void> keep(std::uint16_t first, std::size_t count);
  // So many others, that nobody uses.
  Result<std::vector<std::uint16_t>> find(std::size_t count);

 private:
  std::vector<net::Descriptor> sockets_;
};

// Where a program of that name is, as a shell would find it; empty: nowhere.
std::string find_program(const std::string& name, const cli::Console& console);

}  // namespace mete::lab
