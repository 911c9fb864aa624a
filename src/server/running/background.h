// Background: one thread for work that would hold up an event loop, one piece after the other.
//
// Clients have their turns by the addresses that they come from, however many connections each has: who asks for much
// waits behind itself. What the server needs itself, and what the admin alone may ask, has every other turn, so that
// it never waits for more than one piece of others.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "server/doors/guesses.h"

namespace mete::server {

class Background {
 public:
  using Task = std::function<void()>;
  static constexpr std::size_t kTasksMax = 10'000;         // of all clients
  static constexpr std::size_t kTasksOfSourceMax = 2'000;  // of those at one address
  static constexpr std::size_t kFirstMax = 1'000;          // of the server and the admin

  Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  // Finishes what has begun; what has not is left undone.
  ~Background();

  // False if too much is waiting already.
  [[nodiscard]] bool run(const GuessSource& source, Task task);
  [[nodiscard]] bool run_first(Task task);

 private:
  void work();
  Task next();

  std::mutex mutex_;
  std::condition_variable signal_;
  std::deque<Task> first_;
  std::map<GuessSource, std::deque<Task>> tasks_;  // none is empty
  std::deque<GuessSource> turns_;                  // whose turn it is next: each that has tasks, once
  std::size_t count_ = 0;                          // of the tasks
  bool was_first_ = false;                         // the last turn
  bool is_stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::server
