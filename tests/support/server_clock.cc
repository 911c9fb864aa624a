#include "support/server_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "net/descriptor.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

constexpr std::uint64_t kNanosecondsPerMicrosecond = 1000;
constexpr const char* kLibrary = "settable_clock.so";
constexpr const char* kTime = "clock";

}  // namespace

ServerClock::ServerClock(std::filesystem::path directory) : directory_(std::move(directory)) {
  static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
  // A copy, since a server of another user need not be able to enter the directory of the build.
  std::filesystem::copy_file(METE_SETTABLE_CLOCK, directory_ / kLibrary);
  const std::string path = directory_ / kTime;
  const net::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (::ftruncate(file.get(), sizeof(*us_)) != 0) fail("cannot write " + path + ": " + std::strerror(errno));
  void* mapped = ::mmap(nullptr, sizeof(*us_), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) fail("cannot map " + path + ": " + std::strerror(errno));
  us_ = static_cast<std::atomic<std::uint64_t>*>(mapped);
  set(kServerStart);
}

ServerClock::~ServerClock() { ::munmap(us_, sizeof(*us_)); }

void ServerClock::set(Instant at) {
  CHECK(at.ns() % kNanosecondsPerMicrosecond == 0);
  us_->store(at.ns() / kNanosecondsPerMicrosecond, std::memory_order_release);
}

Instant ServerClock::now() const {
  return Instant::from_ns(us_->load(std::memory_order_acquire) * kNanosecondsPerMicrosecond);
}

std::vector<std::string> ServerClock::environment() const {
  return {"LD_PRELOAD=" + (directory_ / kLibrary).string(), "METE_TEST_CLOCK=" + (directory_ / kTime).string()};
}

}  // namespace mete::support
