// ServerClock: the time of day of a server that a test starts, as the test sets it. support/settable_clock.cc is what
// the server loads for it.
//
//     ServerClock clock(directory);
//     start the server with clock.environment();
//     clock.set(clock.now() + 30s);
//
// Thread safety: set() and now().
#pragma once

#include <mete/time.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mete::support {

// What it begins with. Far from the start of any window: tests that want one go there.
inline constexpr Instant kServerStart = Instant::from_ns(1'700'000'123'456'789'000);

class ServerClock {
 public:
  // The directory gets two files that whoever may enter it can read.
  explicit ServerClock(std::filesystem::path directory);
  ServerClock(const ServerClock&) = delete;
  ServerClock& operator=(const ServerClock&) = delete;
  ~ServerClock();

  // To the microsecond.
  void set(Instant at);
  [[nodiscard]] Instant now() const;

  // As ChildProcess takes it.
  [[nodiscard]] std::vector<std::string> environment() const;

 private:
  std::filesystem::path directory_;
  std::atomic<std::uint64_t>* us_ = nullptr;  // mapped
};

}  // namespace mete::support
