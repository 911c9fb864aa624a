#include "support/pgbouncer.h"

#include <fstream>

#include "support/files.h"
#include "support/ports.h"
#include "support/postgres_files.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 20s;  // for what takes some 20 ms on an idle machine

}  // namespace

PgBouncer::PgBouncer(const PostgresServer& server, const Options& options) {
  give_to_server(directory_.path());
  constexpr int kPortsMax = 20;
  for (int attempt = 0; attempt < kPortsMax; ++attempt) {
    port_ = free_port();
    if (try_to_start(server, options)) return;
  }
  fail("pgbouncer found each of " + std::to_string(kPortsMax) + " ports taken:\n" + log());
}

std::string PgBouncer::url(std::string_view database) const {
  return "postgres://mete@127.0.0.1:" + std::to_string(port_) + "/" + std::string(database);
}

std::string PgBouncer::log() const { return read_file(directory_.path() / "log"); }

bool PgBouncer::try_to_start(const PostgresServer& server, const Options& options) {
  const std::filesystem::path configuration = directory_.path() / "pgbouncer.ini";
  std::ofstream(configuration) << "[databases]\n* = host=127.0.0.1 port=" << server.port() << " user=mete\n"
                               << "[pgbouncer]\npool_mode=transaction\nauth_type=any\nunix_socket_dir=\n"
                               << "listen_addr=127.0.0.1\nlisten_port=" << port_ << "\n";
  std::ofstream file(configuration, std::ios::app);
  for (const std::string& setting : options.settings) file << setting << "\n";
  file.close();
  give_to_server(configuration);
  process_ = ChildProcess({.words = {find_program("pgbouncer"), configuration},
                           .output = directory_.path() / "log",
                           .user = server_user(),
                           .directory = directory_.path()});
  const auto is_decided = [this] { return has(log(), "process up") || !process_.is_running(); };
  if (!becomes_true(kPatience, is_decided)) fail("pgbouncer does not get ready:\n" + log());
  if (process_.is_running()) return true;
  if (!has(log(), "Address already in use")) fail("pgbouncer does not start:\n" + log());
  return false;
}

}  // namespace mete::support
