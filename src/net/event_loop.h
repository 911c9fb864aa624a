// EventLoop: one thread that waits for many descriptors, timers and messages from other threads.
//
// Ownership: it owns none of its handlers; a handler removes its descriptor before it dies. One that dies while events
// of the same round may still name it is given to bury(): it is destroyed when the round is over.
// Thread safety: post() and stop() from any thread; everything else on the loop's own thread.
#pragma once

#include <mete/time.h>
#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "net/descriptor.h"

namespace mete::net {

class EventHandler {
 public:
  EventHandler() = default;
  EventHandler(const EventHandler&) = delete;
  EventHandler& operator=(const EventHandler&) = delete;
  virtual ~EventHandler() = default;

  virtual void on_events(std::uint32_t events) = 0;  // EPOLLIN, EPOLLOUT, …
};

class EventLoop {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;  // 0: no timer

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // False if the system refuses (too many watches).
  bool watch(int fd, std::uint32_t events, EventHandler& handler);
  void change(int fd, std::uint32_t events, EventHandler& handler);
  void forget(int fd);
  void bury(std::unique_ptr<EventHandler> handler) { buried_.push_back(std::move(handler)); }

  // Runs the task once, after the delay.
  TimerId after(Duration delay, Task task);
  void cancel(TimerId timer);

  // The loop that runs on this thread; null: none does.
  static EventLoop* current();

  // Runs the task soon, on this loop's thread, in the order of posting.
  void post(Task task);

  // Runs the task when all that the present round has brought is done, before the loop waits again.
  void at_round_end(Task task) { round_end_.push_back(std::move(task)); }

  // Until stop(); it can be run again.
  void run();
  void stop();

  // The monotonic clock, as of the present round.
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

 private:
  struct Timer {
    std::uint64_t due_ns;
    TimerId id;
    Task task;
    // The first one due is the greatest: what std::push_heap puts in front.
    bool operator<(const Timer& other) const { return due_ns != other.due_ns ? due_ns > other.due_ns : id > other.id; }
  };
  class Wakeup;

  void wait();
  void run_timers();
  void run_posted();
  void end_round();
  // What has come, when something has or the first timer is due.
  int wait_for(std::span<epoll_event> events);
  void read_clock();

  Descriptor epoll_;
  std::unique_ptr<Wakeup> wakeup_;
  std::vector<std::unique_ptr<EventHandler>> buried_;
  std::vector<Task> round_end_;
  std::vector<Timer> timers_;  // a heap; those that were cancelled are among them for a while
  std::unordered_set<TimerId> pending_timers_;
  TimerId next_timer_ = 1;
  std::uint64_t now_ns_ = 0;
  bool has_fine_waits_ = true;  // for less than a millisecond
  bool is_stopping_ = false;

  std::atomic<bool> has_posted_{false};
  std::mutex posted_mutex_;
  std::vector<Task> posted_;
};

}  // namespace mete::net
