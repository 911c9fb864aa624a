// Many threads at once, each with random numbers of its own.
#pragma once

#include <mete/mete.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mete::threads {

inline constexpr int kThreads = 8;

// The thread sanitizer makes everything about ten times slower.
#if defined(__SANITIZE_THREAD__)
inline constexpr int kSlowdown = 8;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr int kSlowdown = 8;
#else
inline constexpr int kSlowdown = 1;
#endif
#else
inline constexpr int kSlowdown = 1;
#endif

// Of each thread, where one step is quick.
inline constexpr int kSteps = 40'000 / kSlowdown;

class Random {
 public:
  explicit Random(int thread) : engine_(static_cast<std::uint32_t>(thread) * 7919 + 1) {}

  int below(int end) { return static_cast<int>(engine_() % static_cast<std::uint32_t>(end)); }
  Amount amount(Amount max) { return 1 + below(static_cast<int>(max)); }
  bool one_in(int chances) { return below(chances) == 0; }

 private:
  std::mt19937 engine_;
};

// Runs work(thread, random) on `count` threads that start together, and waits for all of them.
template <class Work>
void run(int count, Work work) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&start, &work, i] {
      Random random(i);
      start.arrive_and_wait();
      work(i, random);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Repeats something beside the others until it goes out of scope, and at least once.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          do work();
          while (!is_done_.load());
        }) {}
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;
  ~Meanwhile() {
    is_done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_done_{false};
  std::thread thread_;  // last: it uses the above
};

inline std::string key_name(int number) { return "key:" + std::to_string(number); }

}  // namespace mete::threads
