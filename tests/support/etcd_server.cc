#include "support/etcd_server.h"

#include <atomic>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "store/open.h"
#include "support/files.h"
#include "support/ports.h"
#include "support/shared_server.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 30s;  // for what takes less than a second on an idle machine

// In memory where the system has such a folder: a member that is killed loses nothing there, and nobody waits for a
// disk.
std::filesystem::path parent_directory() {
  const std::filesystem::path in_memory = "/dev/shm";
  return std::filesystem::is_directory(in_memory) ? in_memory : std::filesystem::temp_directory_path();
}

std::string on_port(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

}  // namespace

EtcdServer::EtcdServer(Options options)
    : options_(std::move(options)), directory_(std::make_unique<TemporaryDirectory>(parent_directory())) {
  constexpr int kPortsMax = 20;
  const bool is_alone = options_.cluster.empty();
  for (int attempt = 0; attempt < kPortsMax; ++attempt) {
    port_ = free_port();
    if (is_alone) options_.peer_port = free_port();
    if (try_to_start() == Start::kReady) return;
  }
  fail("etcd found each of " + std::to_string(kPortsMax) + " ports taken:\n" + log());
}

EtcdServer::~EtcdServer() { process_.kill_hard(); }

std::string EtcdServer::log() const { return read_file(directory_->path() / "log"); }

void EtcdServer::stop() {
  process_.signal(SIGTERM);
  if (!process_.ends_within(kPatience)) fail("etcd does not end on SIGTERM:\n" + log());
}

void EtcdServer::start_again() {
  CHECK(!process_.is_running());
  if (!becomes_true(kPatience, [this] { return try_to_start() == Start::kReady; })) {
    fail("the port of etcd was taken by somebody else meanwhile:\n" + log());
  }
}

void EtcdServer::pause() const { process_.pause(); }

void EtcdServer::resume() const { process_.resume(); }

// One of several is ready only when others are: then it is enough that it runs.
EtcdServer::Start EtcdServer::try_to_start() {
  process_ = ChildProcess(command());
  const std::string_view sign = options_.cluster.empty() ? "serving client traffic" : "starting";
  const auto is_decided = [&] { return has(log(), sign) || !process_.is_running(); };
  if (!becomes_true(kPatience, is_decided)) fail("etcd does not get ready:\n" + log());
  if (process_.is_running()) return Start::kReady;
  if (!has(log(), "address already in use")) fail("etcd does not start:\n" + log());
  return Start::kPortTaken;
}

ChildProcess::Command EtcdServer::command() const {
  const std::string client = (options_.has_tls ? "https://" : "http://") + address();
  const std::string peer = on_port(options_.peer_port);
  const std::string cluster = options_.cluster.empty() ? options_.name + "=" + peer : options_.cluster;
  ChildProcess::Command made = {
      .words = {"etcd", "--name", options_.name, "--data-dir", (directory_->path() / "data").string(),
                "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster, "--logger", "zap", "--log-outputs",
                "stderr"},
      .output = directory_->path() / "log"};
  // Whoever is alone need not wait for others before it is the leader: a start in half the time.
  if (options_.cluster.empty()) {
    made.words.insert(made.words.end(), {"--heartbeat-interval=10", "--election-timeout=100"});
  }
  made.words.insert(made.words.end(), options_.arguments.begin(), options_.arguments.end());
  return made;
}

EtcdCluster::EtcdCluster() {
  constexpr std::size_t kMembers = 3;
  std::vector<std::uint16_t> ports;
  std::string cluster;
  for (std::size_t i = 0; i < kMembers; ++i) {
    ports.push_back(free_port());
    cluster += (i == 0 ? "m" : ",m") + std::to_string(i) + "=" + on_port(ports.back());
  }
  for (std::size_t i = 0; i < kMembers; ++i) {
    members_.push_back(std::make_unique<EtcdServer>(
        EtcdServer::Options{.name = "m" + std::to_string(i), .cluster = cluster, .peer_port = ports[i]}));
  }
  const auto answers = [this] { return store::open_store(url("?timeout=2s"), {}).has_value(); };
  if (!becomes_true(kPatience, answers)) fail("the members of etcd find no leader:\n" + members_[0]->log());
}

std::string EtcdCluster::url(std::string_view parameters) const {
  std::string text = "etcd://";
  for (const auto& member : members_) text += (text.back() == '/' ? "" : ",") + member->address();
  return text + std::string(parameters);
}

EtcdServer& shared_etcd() {
  static SharedServer<EtcdServer> shared([](auto& server) { server.emplace(); },
                                         [](EtcdServer& server) {
                                           const auto opened = store::open_store(server.patient_url("/nobody"), {});
                                           if (!opened) fail(opened.error().message);
                                         });
  return shared.as_new();
}

std::string unused_etcd_path() {
  static std::atomic<int> next{1};
  return "/test-" + std::to_string(next.fetch_add(1));
}

}  // namespace mete::support
