#include "support/postgres_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "net/descriptor.h"
#include "support/child_process.h"
#include "support/files.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Duration kPatience = 60s;  // for what takes a second on an idle machine

std::vector<fs::path> program_directories() {
  std::vector<fs::path> directories;
  const char* const path = std::getenv("PATH");
  std::istringstream words(path == nullptr ? "" : path);
  for (std::string word; std::getline(words, word, ':');) directories.emplace_back(word);
  directories.emplace_back("/usr/sbin");
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    directories.push_back(version.path() / "bin");
  }
  return directories;
}

// A cluster fits the program that made it: another version gets another one.
std::string fingerprint(const fs::path& program) {
  const auto written = fs::last_write_time(program).time_since_epoch();
  return std::to_string(fs::file_size(program)) + "-" + std::to_string(written.count());
}

// In a directory that the server's user can enter, and from there to where it is kept.
void make_template(const fs::path& kept) {
  const TemporaryDirectory directory;
  give_to_server(directory.path());
  const fs::path made = directory.path() / "data";
  const fs::path log = directory.path() / "log";
  ChildProcess initdb({.words = {find_program("initdb"), "--no-sync", "--auth=trust", "--username=mete",
                                 "--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--pgdata=" + made.string()},
                       .output = log,
                       .user = server_user(),
                       .directory = directory.path()});
  if (!initdb.ends_within(kPatience) || !has(read_file(log), "Success.")) {
    fail("initdb does not make a cluster:\n" + read_file(log));
  }
  const fs::path unfinished = kept.string() + ".unfinished";
  fs::remove_all(unfinished);
  fs::copy(made, unfinished, fs::copy_options::recursive);
  fs::rename(unfinished, kept);
}

}  // namespace

fs::path find_program(const std::string& name) {
  for (const fs::path& directory : program_directories()) {
    if (::access((directory / name).c_str(), X_OK) == 0) return directory / name;
  }
  fail("there is no " + name + " here; ./x test installs what the tests need");
}

std::string server_user() { return ::geteuid() == 0 ? "postgres" : ""; }

void give_to_server(const fs::path& path) {
  if (server_user().empty()) return;
  const passwd* const user = ::getpwnam(server_user().c_str());
  if (user == nullptr) fail("there is no user " + server_user() + "; ./x test installs what the tests need");
  const auto give = [user](const fs::path& each) {
    if (::lchown(each.c_str(), user->pw_uid, user->pw_gid) != 0) {
      fail("cannot give " + each.string() + " away: " + std::strerror(errno));
    }
  };
  give(path);
  if (!fs::is_directory(path)) return;
  for (const auto& each : fs::recursive_directory_iterator(path)) give(each.path());
}

void make_cluster(const fs::path& directory) {
  const fs::path cache = METE_TEST_CACHE;
  const fs::path kept = cache / ("postgres-" + fingerprint(find_program("postgres")));
  {
    // Test programs that run side by side need it at the same time.
    const net::Descriptor lock(::open((cache / "postgres.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (::flock(lock.get(), LOCK_EX) != 0) fail(std::string("cannot lock postgres.lock: ") + std::strerror(errno));
    if (!fs::exists(kept)) make_template(kept);
  }
  fs::copy(kept, directory, fs::copy_options::recursive);
  fs::permissions(directory, fs::perms::owner_all);
  give_to_server(directory);
}

void copy_cluster(std::uint16_t port, const fs::path& directory) {
  const fs::path log = directory.string() + ".log";
  ChildProcess copying({.words = {find_program("pg_basebackup"), "--no-sync", "--checkpoint=fast",
                                  "--write-recovery-conf", "--host=127.0.0.1", "--port=" + std::to_string(port),
                                  "--username=mete", "--no-password", "--verbose", "--pgdata=" + directory.string()},
                        .output = log,
                        .user = server_user(),
                        .directory = directory.parent_path()});
  if (!copying.ends_within(kPatience) || !has(read_file(log), "base backup completed")) {
    fail("pg_basebackup does not copy the cluster:\n" + read_file(log));
  }
}

}  // namespace mete::support
