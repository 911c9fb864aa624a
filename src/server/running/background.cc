#include "server/running/background.h"

#include <utility>

namespace mete::server {

Background::Background() : thread_([this] { work(); }) {}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  signal_.notify_one();
  thread_.join();
}

bool Background::run(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= kTasksMax) return false;
    tasks_.push_back(std::move(task));
  }
  signal_.notify_one();
  return true;
}

void Background::work() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      signal_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
      if (is_stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace mete::server
