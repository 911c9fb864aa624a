#include "serving/mete_process.h"

#include <csignal>
#include <stdexcept>

#include "base/check.h"
#include "support/files.h"
#include "support/ports.h"
#include "support/waiting.h"

namespace mete::serving {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 20s;  // for what takes some 50 ms on an idle machine

}  // namespace

MeteProcess::MeteProcess(const Options& /*options*/) {
  constexpr int kPortsMax = 20;
  for (int attempt = 0; attempt < kPortsMax; ++attempt) {
    port_ = support::free_port();
    if (try_to_start()) return;
  }
  throw std::runtime_error("mete found each of " + std::to_string(kPortsMax) + " ports taken:\n" + log());
}

MeteProcess::~MeteProcess() { process_.kill_hard(); }

std::string MeteProcess::log() const { return support::read_file(directory_.path() / "log"); }

void MeteProcess::stop() {
  process_.signal(SIGTERM);
  if (!process_.ends_within(kPatience)) throw std::runtime_error("mete does not end on SIGTERM:\n" + log());
}

void MeteProcess::start_again() {
  CHECK(!process_.is_running());
  // A test that looks for a free port may be on it for a moment.
  if (support::becomes_true(kPatience, [this] { return try_to_start(); })) return;
  throw std::runtime_error("the port of mete was taken by somebody else meanwhile:\n" + log());
}

void MeteProcess::pause() const { process_.pause(); }

void MeteProcess::resume() const { process_.resume(); }

bool MeteProcess::try_to_start() {
  process_ = support::ChildProcess({
      .words = {METE_PROGRAM, "serve", "--resp", "127.0.0.1:" + std::to_string(port_), "--http", "off", "--data",
                directory_.path() / "data"},
      .output = directory_.path() / "log",
  });
  const auto is_decided = [this] { return support::has(log(), "\"ready\"") || !process_.is_running(); };
  if (!support::becomes_true(kPatience, is_decided)) throw std::runtime_error("mete does not get ready:\n" + log());
  if (process_.is_running()) return true;
  if (!support::has(log(), "in use")) throw std::runtime_error("mete does not start:\n" + log());
  return false;
}

}  // namespace mete::serving
