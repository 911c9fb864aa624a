#include "support/postgres_server.h"

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "store/postgres/connection.h"
#include "store/postgres/migrate.h"
#include "support/files.h"
#include "support/ports.h"
#include "support/postgres_files.h"
#include "support/shared_server.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Duration kPatience = 60s;  // for what takes some 100 ms on an idle machine

// The state and the parent of a process; a process that is gone has the state '\0', one that is not reaped 'Z'.
struct ProcessState {
  char state = '\0';
  pid_t parent = 0;
};

ProcessState state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  // PID (NAME) STATE PARENT …, where the name may hold anything.
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  ProcessState found;
  rest >> found.state >> found.parent;
  return found;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    if (state_of(pid).parent == parent) children.push_back(pid);
  }
  return children;
}

bool has_ended(pid_t pid) {
  const char state = state_of(pid).state;
  return state == '\0' || state == 'Z' || state == 'X';
}

void start_with_schema(std::optional<PostgresServer>& server, bool has_settable_clock) {
  server.emplace(PostgresServer::Options{.has_settable_clock = has_settable_clock});
  server->install_schema();
}

// A transaction that a failed test has left open would keep the tables locked for ever.
void empty(PostgresServer& server) {
  server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity "
      "where backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid();"
      "truncate mete.limits, mete.revisions, mete.meters, mete.operations, mete.events");
}

}  // namespace

PostgresServer::PostgresServer(Options options)
    : options_(std::move(options)), directory_(std::make_unique<TemporaryDirectory>()) {
  if (options_.has_settable_clock) clock_.emplace(directory_->path());
  give_to_server(directory_->path());
  if (options_.primary != nullptr) {
    copy_cluster(options_.primary->port(), data());
  } else {
    make_cluster(data());
  }
  constexpr int kPortsMax = 20;
  for (int attempt = 0; attempt < kPortsMax; ++attempt) {
    port_ = free_port();
    if (try_to_start() == Start::kReady) return;
  }
  fail("postgres found each of " + std::to_string(kPortsMax) + " ports taken:\n" + log());
}

PostgresServer::~PostgresServer() {
  if (process_.is_running()) kill_hard();
}

std::string PostgresServer::url(std::string_view database, std::string_view role) const {
  return "postgres://" + std::string(role) + "@" + address() + "/" + std::string(database);
}

std::string PostgresServer::log() const { return read_file(directory_->path() / "log"); }

void PostgresServer::kill_hard() {
  CHECK(process_.is_running());
  process_.signal(SIGSTOP);
  const std::vector<pid_t> children = children_of(process_.pid());
  for (const pid_t child : children) ::kill(child, SIGKILL);
  process_.kill_hard();
  // One that still had the shared memory would keep the next server from starting.
  for (const pid_t child : children) {
    if (!becomes_true(kPatience, [child] { return has_ended(child); })) fail("a process of postgres does not end");
  }
}

void PostgresServer::stop() {
  constexpr int kFastShutdown = SIGINT;
  process_.signal(kFastShutdown);
  if (!process_.ends_within(kPatience)) fail("postgres does not end on SIGINT:\n" + log());
}

void PostgresServer::start_again() {
  CHECK(!process_.is_running());
  // A test that looks for a free port may be on it for a moment.
  if (!becomes_true(kPatience, [this] { return try_to_start() == Start::kReady; }))
    fail("the port of postgres was taken by somebody else meanwhile:\n" + log());
}

void PostgresServer::pause() const {
  process_.pause();
  for (const pid_t child : children_of(process_.pid())) stop_process(child);
}

void PostgresServer::resume() const {
  process_.resume();
  for (const pid_t child : children_of(process_.pid())) ::kill(child, SIGCONT);
}

void PostgresServer::set_time(Instant at) {
  CHECK(clock_.has_value());
  clock_->set(at);
}

Instant PostgresServer::time() const {
  CHECK(clock_.has_value());
  return clock_->now();
}

PostgresServer::Rows PostgresServer::query(const std::string& sql, std::string_view database) const {
  const auto deadline = net::Deadline::in(kPatience);
  auto connection = store::postgres::Connection::open(url(database), deadline);
  if (!connection) fail(connection.error().message);
  const auto found = connection->run_text(sql, deadline);
  if (!found) fail(sql + ": " + found.error().message);
  Rows rows(found->size());
  for (std::size_t row = 0; row < found->size(); ++row) {
    for (std::size_t column = 0; column < found->column_count(); ++column) {
      rows[row].emplace_back(found->text(row, column));
    }
  }
  return rows;
}

void PostgresServer::make_database(std::string_view name) const { query("create database " + std::string(name)); }

void PostgresServer::install_schema() const { query(store::postgres::migration_text(std::nullopt)); }

// Its log says that it is ready; an answer on the port might be that of another server, which took it first.
PostgresServer::Start PostgresServer::try_to_start() {
  // Left by a crash: a number in it may be that of another process by now.
  fs::remove(data() / "postmaster.pid");
  fs::remove(directory_->path() / (".s.PGSQL." + std::to_string(port_) + ".lock"));
  process_ = ChildProcess(command());
  const auto is_decided = [this] { return has(log(), "database system is ready to accept") || !process_.is_running(); };
  if (!becomes_true(kPatience, is_decided)) fail("postgres does not get ready:\n" + log());
  if (process_.is_running()) return Start::kReady;
  if (!has(log(), "Address already in use")) fail("postgres does not start:\n" + log());
  return Start::kPortTaken;
}

ChildProcess::Command PostgresServer::command() const {
  const std::string directory = directory_->path();
  ChildProcess::Command made = {.words = {find_program("postgres"), "-D", data(), "-p", std::to_string(port_)},
                                .output = directory_->path() / "log",
                                .user = server_user(),
                                .directory = directory_->path()};
  // Its role has the name of the schema, which would be found without being named.
  std::vector<std::string> settings = {"listen_addresses=127.0.0.1", "unix_socket_directories=" + directory,
                                       "search_path=public",         "shared_buffers=32MB",
                                       "max_connections=100",        "timezone=UTC"};
  // Against the end of the server alone, what the kernel has is enough.
  if (!options_.is_durable) settings.insert(settings.end(), {"fsync=off", "full_page_writes=off"});
  if (options_.has_settable_clock) settings.emplace_back("autovacuum=off");
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  for (const std::string& setting : settings) made.words.insert(made.words.end(), {"-c", setting});
  if (clock_) made.environment = clock_->environment();
  return made;
}

PostgresServer& shared_postgres() {
  static SharedServer<PostgresServer> shared([](auto& server) { start_with_schema(server, true); },
                                             [](PostgresServer& server) {
                                               server.set_time(kServerStart);
                                               empty(server);
                                             });
  return shared.as_new();
}

PostgresServer& running_postgres() {
  static SharedServer<PostgresServer> shared([](auto& server) { start_with_schema(server, false); }, empty);
  return shared.as_new();
}

}  // namespace mete::support
