// Where PostgreSQL is on this machine, whom it runs as, and an empty database cluster for each server of the tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mete::support {

// A program, found through PATH, or where Debian has those of PostgreSQL.
std::filesystem::path find_program(const std::string& name);

// Servers that refuse to run as root run as this user; empty if this process is not root.
std::string server_user();
// Gives a file, or a directory with all that is in it, to server_user().
void give_to_server(const std::filesystem::path& path);

// Makes `directory` one with an empty cluster. It is copied from one that is made once for each build directory, since
// initdb takes a second.
void make_cluster(const std::filesystem::path& directory);
// Makes it one with a copy of the cluster of the server on that port, to be its standby.
void copy_cluster(std::uint16_t port, const std::filesystem::path& directory);

}  // namespace mete::support
