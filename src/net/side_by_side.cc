#include "net/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "net/fiber.h"
#include "net/signal.h"

namespace mete::net {

namespace {

using Work = std::function<void(std::size_t)>;

// All of them have one thread: so what they share needs no lock but the one that a Signal wants.
void on_fibers(Fibers& fibers, std::size_t count, std::size_t helpers, const Work& work) {
  std::mutex mutex;
  Signal ended;
  std::size_t next = 0;
  std::size_t working = helpers;
  const auto help = [&] {
    while (next < count) work(next++);
  };
  for (std::size_t i = 0; i < helpers; ++i) {
    fibers.run_soon([&] {
      help();
      const std::lock_guard lock(mutex);
      if (--working == 0) ended.notify_all();
    });
  }
  help();
  std::unique_lock lock(mutex);
  ended.wait(lock, Deadline::in(Duration::never()), [&] { return working == 0; });
}

void on_threads(std::size_t count, std::size_t helpers, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto help = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() < helpers) threads.emplace_back(help);
  } catch (const std::system_error&) {  // The system gives no more: those that there are do it.
  }
  help();
  for (std::thread& each : threads) each.join();
}

}  // namespace

void side_by_side(std::size_t count, std::size_t at_once, const Work& work) {
  Fibers* const fibers = Fibers::current();
  const std::size_t workers = std::min({count, at_once, fibers != nullptr ? at_once : kThreadsSideBySideMax});
  if (workers <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  } else if (fibers != nullptr) {
    on_fibers(*fibers, count, workers - 1, work);
  } else {
    on_threads(count, workers - 1, work);
  }
}

}  // namespace mete::net
