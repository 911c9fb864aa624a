#include "support/redis_server.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "support/files.h"
#include "support/ports.h"
#include "support/redis_client.h"
#include "support/shared_server.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 20s;  // for what takes some 50 ms on an idle machine

// Lines of "field:value".
std::string field_of(const std::string& lines, std::string_view field) {
  const std::string text = "\r\n" + lines;
  const std::string start = "\r\n" + std::string(field) + ":";
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return {};
  const std::size_t from = at + start.size();
  return text.substr(from, text.find("\r\n", from) - from);
}

}  // namespace

RedisServer::RedisServer(Options options)
    : options_(std::move(options)), directory_(std::make_unique<TemporaryDirectory>()) {
  if (options_.has_settable_clock) clock_.emplace(directory_->path());
  if (!options_.configuration.empty()) std::ofstream(directory_->path() / "redis.conf") << options_.configuration;
  constexpr int kPortsMax = 20;
  for (int attempt = 0; attempt < kPortsMax; ++attempt) {
    port_ = free_port();
    if (options_.is_cluster_node) bus_port_ = free_port();
    if (try_to_start() == Start::kReady) return;
  }
  fail("redis-server found each of " + std::to_string(kPortsMax) + " ports taken:\n" + log());
}

RedisServer::~RedisServer() { process_.kill_hard(); }

std::string RedisServer::log() const { return read_file(directory_->path() / "log"); }

void RedisServer::stop() {
  process_.signal(SIGTERM);
  if (!process_.ends_within(kPatience)) fail("redis-server does not end on SIGTERM:\n" + log());
}

void RedisServer::start_again() {
  CHECK(!process_.is_running());
  // A test that looks for a free port may be on it for a moment.
  if (!becomes_true(kPatience, [this] { return try_to_start() == Start::kReady; }))
    fail("the port of redis-server was taken by somebody else meanwhile:\n" + log());
}

void RedisServer::pause() const { process_.pause(); }

void RedisServer::resume() const { process_.resume(); }

void RedisServer::set_time(Instant at) {
  CHECK(clock_.has_value());
  clock_->set(at);
}

Instant RedisServer::time() const {
  CHECK(clock_.has_value());
  return clock_->now();
}

wire::RespValue RedisServer::call(std::initializer_list<std::string_view> words) const {
  return RedisClient(port_).call(words);
}

std::string RedisServer::info(std::string_view field) const {
  return field_of(call({"INFO", "everything"}).text, field);
}

std::string RedisServer::cluster_info(std::string_view field) const {
  return field_of(call({"CLUSTER", "INFO"}).text, field);
}

void RedisServer::await_replica() const {
  const std::int64_t written = std::stoll(info("master_repl_offset"));
  const auto has_all = [&] {
    const std::string replica = info("slave0");  // ip=127.0.0.1,port=6380,state=online,offset=14,lag=0
    const std::size_t offset = replica.find("offset=");
    return has(replica, "state=online") && offset != std::string::npos &&
           std::stoll(replica.substr(offset + std::string_view("offset=").size())) >= written;
  };
  if (!becomes_true(kPatience, has_all)) fail("no replica keeps up:\n" + log());
}

// Its log says that it is ready; an answer on the port might be that of another server, which took it first.
RedisServer::Start RedisServer::try_to_start() {
  process_ = ChildProcess(command());
  const auto is_decided = [this] {
    const std::string words = log();
    return has(words, "Ready to accept connections") || has(words, "Sentinel ID is") || !process_.is_running();
  };
  if (!becomes_true(kPatience, is_decided)) fail("redis-server does not get ready:\n" + log());
  if (process_.is_running()) return Start::kReady;
  if (!has(log(), "Address already in use")) fail("redis-server does not start:\n" + log());
  return Start::kPortTaken;
}

ChildProcess::Command RedisServer::command() const {
  const std::string directory = directory_->path();
  ChildProcess::Command made = {.words = {"redis-server"}, .output = directory_->path() / "log"};
  if (!options_.configuration.empty()) made.words.push_back(directory + "/redis.conf");
  const std::string words[] = {
      "--port", std::to_string(port_), "--bind", "127.0.0.1",  "--dir",  directory,     "--save",
      "",       "--appendonly",        "no",     "--loglevel", "notice", "--daemonize", "no"};
  made.words.insert(made.words.end(), std::begin(words), std::end(words));
  if (options_.is_cluster_node) {
    const std::string bus[] = {"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus_port_)};
    made.words.insert(made.words.end(), std::begin(bus), std::end(bus));
  }
  made.words.insert(made.words.end(), options_.arguments.begin(), options_.arguments.end());
  if (clock_) made.environment = clock_->environment();
  return made;
}

RedisServer& shared_redis() {
  static SharedServer<RedisServer> shared(
      [](auto& server) { server.emplace(RedisServer::Options{.arguments = {}, .has_settable_clock = true}); },
      [](RedisServer& server) {
        server.set_time(kServerStart);
        if (const auto reply = server.call({"FLUSHALL"}); reply.text != "OK") fail("FLUSHALL: " + reply.text);
      });
  return shared.as_new();
}

}  // namespace mete::support
