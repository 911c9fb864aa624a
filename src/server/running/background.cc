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

bool Background::run(const GuessSource& source, Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (count_ >= kTasksMax) return false;
    const auto [tasks, is_new] = tasks_.try_emplace(source);
    if (tasks->second.size() >= kTasksOfSourceMax) return false;
    if (is_new) turns_.push_back(source);
    tasks->second.push_back(std::move(task));
    ++count_;
  }
  signal_.notify_one();
  return true;
}

bool Background::run_first(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (first_.size() >= kFirstMax) return false;
    first_.push_back(std::move(task));
  }
  signal_.notify_one();
  return true;
}

Background::Task Background::next() {
  const bool is_first = !first_.empty() && (!was_first_ || turns_.empty());
  was_first_ = is_first;
  if (is_first) {
    Task task = std::move(first_.front());
    first_.pop_front();
    return task;
  }
  const GuessSource source = turns_.front();
  turns_.pop_front();
  const auto tasks = tasks_.find(source);
  Task task = std::move(tasks->second.front());
  tasks->second.pop_front();
  --count_;
  if (tasks->second.empty()) {
    tasks_.erase(tasks);
  } else {
    turns_.push_back(source);
  }
  return task;
}

void Background::work() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      signal_.wait(lock, [this] { return is_stopping_ || !first_.empty() || !turns_.empty(); });
      if (is_stopping_) return;
      task = next();
    }
    task();
  }
}

}  // namespace mete::server
