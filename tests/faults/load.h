// Load: callers that ask a limiter again and again, and count what they are told. They are threads, each of which has a
// connection to itself; or fibers of one event loop, as in a server, which share them.
//
//     Load load(4, [&] { return limiter.take("stock", "k"); });
//     server.call({"SCRIPT", "FLUSH"});
//     const Tally tally = load.stop();
//     EXPECT_EQ(tally.unavailable, 0);
#pragma once

#include <mete/mete.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace mete::faults {

// Of a load, where a test does not need more.
inline constexpr int kThreads = 4;
// What a call may take while its server is away: a time-out of a second at most, and time for what else this machine
// does.
inline constexpr std::chrono::seconds kInTime{5};
// The time-out of those who are to wait for as long as it takes.
inline constexpr const char* kPatient = "?timeout=20s";

struct Tally {
  Amount allowed = 0;
  Amount denied = 0;
  Amount unavailable = 0;  // may have been charged or not
  std::string wrong;       // any other answer: the first one
  std::chrono::nanoseconds slowest{0};

  void count(const Result<Decision>& answer, std::chrono::nanoseconds took);
  Tally& operator+=(const Tally& other);
};

enum class Callers : std::uint8_t { kOnThreads, kOnFibers };

class Load {
 public:
  using Call = std::function<Result<Decision>()>;

  Load(int callers, const Call& call, Callers kind = Callers::kOnThreads);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load();

  // Waits until so many were allowed, in real time.
  void await_allowed(Amount count) const;
  // Waits until so many more have failed than had when it was called.
  void await_failures(Amount count) const;
  [[nodiscard]] Amount allowed() const { return allowed_; }
  // Ends it and tells all that was counted.
  Tally stop();

 private:
  void ask_on(const Call& call, Tally& tally);

  std::atomic<bool> is_stopping_{false};
  std::atomic<Amount> allowed_{0};
  std::atomic<Amount> failed_{0};
  std::vector<Tally> tallies_;  // one per caller
  std::vector<std::thread> threads_;
};

// A limiter with a short time-out: opening it is no test of time, and is tried as often as a busy machine needs.
Limiter open_when_calm(const std::string& url);

// The usage, once the server is there again for this limiter. Waits in real time.
Usage await_usage(const Limiter& limiter, std::string_view limit, std::string_view key);

// Asks until it is denied: what is left, taken by as many threads.
Tally exhaust(int threads, const Load::Call& call);

}  // namespace mete::faults
