// FiberThread: a thread whose event loop runs functions on fibers, so many at a time; the others wait in line.
//
// Thread safety: run() from any thread, and from its functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "net/event_loop.h"
#include "net/fiber.h"

namespace mete::net {

class FiberThread {
 public:
  explicit FiberThread(std::size_t fibers_max) : fibers_max_(fibers_max), thread_([this] { loop_.run(); }) {}
  FiberThread(const FiberThread&) = delete;
  FiberThread& operator=(const FiberThread&) = delete;
  ~FiberThread() {
    if (thread_.joinable()) finish();
  }

  // Waits until all functions have ended, those too that they have brought. Nothing is run any more.
  void finish() {
    loop_.post([this] {
      is_finishing_ = true;
      stop_if_done();
    });
    thread_.join();
  }

  void run(std::function<void()> function) {
    ++under_way_;
    loop_.post([this, function = std::move(function)]() mutable { begin(std::move(function)); });
  }

 private:
  // These are on the thread.
  void begin(std::function<void()> function) {
    if (fibers_.under_way() >= fibers_max_) return waiting_.push_back(std::move(function));
    fibers_.run([this, function = std::move(function)] {
      function();
      loop_.at_round_end([this] { end_one(); });
    });
  }
  void end_one() {
    --under_way_;
    if (!waiting_.empty()) {
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      begin(std::move(next));
    }
    stop_if_done();
  }
  void stop_if_done() {
    if (is_finishing_ && under_way_ == 0) loop_.stop();
  }

  const std::size_t fibers_max_;
  std::atomic<std::size_t> under_way_{0};
  EventLoop loop_;
  Fibers fibers_{loop_};
  std::deque<std::function<void()>> waiting_;
  bool is_finishing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::net
