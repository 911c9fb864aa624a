// Background: one thread for work that would hold up an event loop, one piece after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace mete::server {

class Background {
 public:
  using Task = std::function<void()>;

  Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  // Finishes what has begun; what has not is left undone.
  ~Background();

  // False if too much is waiting already.
  [[nodiscard]] bool run(Task task);

 private:
  static constexpr std::size_t kTasksMax = 10'000;

  void work();

  std::mutex mutex_;
  std::condition_variable signal_;
  std::deque<Task> tasks_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::server
