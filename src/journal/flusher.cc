#include "journal/flusher.h"

#include <algorithm>
#include <utility>

namespace mete::journal {

Flusher::Flusher(Journal& journal, FlusherHooks hooks) : journal_(journal), hooks_(std::move(hooks)) {
  journal_.on_backlog([this] {
    {
      const std::lock_guard lock(mutex_);
      has_backlog_ = true;
    }
    wake_.notify_one();
  });
  thread_ = std::thread([this] { run(); });
}

Flusher::~Flusher() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  journal_.on_backlog({});
}

void Flusher::request() {
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    if (requests_ != 1 && requests_ != requests_expected_) return;
  }
  wake_.notify_one();
}

Result<void> Flusher::wait(Ticket ticket) {
  if (journal_.synced() >= ticket) return {};
  request();
  std::unique_lock lock(mutex_);
  std::optional<Error> failure;
  progress_.wait(lock, [&] {
    if (journal_.synced() >= ticket) return true;
    failure = journal_.failure();
    return failure.has_value();
  });
  if (failure) return *std::move(failure);
  return {};
}

void Flusher::run() {
  std::unique_lock lock(mutex_);
  auto next_interval = std::chrono::steady_clock::now() + kInterval;
  while (!is_stopping_) {
    wake_.wait_until(lock, next_interval, [this] { return is_stopping_ || has_backlog_ || requests_ > 0; });
    if (requests_ > 0) gather(lock);
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_interval) {
      next_interval = now + kInterval;
      end_interval(lock);
      sync(lock);
    } else if (requests_ > 0) {
      sync(lock);
    } else if (std::exchange(has_backlog_, false)) {
      lock.unlock();
      // The journal keeps a failure; the next sync tells of it.
      static_cast<void>(journal_.write_out());
      lock.lock();
    }
  }
  end_interval(lock);
  lock.unlock();
  static_cast<void>(journal_.finish());
  tell();
}

void Flusher::end_interval(std::unique_lock<std::mutex>& lock) {
  if (!hooks_.on_interval) return;
  lock.unlock();
  hooks_.on_interval();
  lock.lock();
}

// The larger one of the last two: where a sync has left all but one behind, the next one has them all.
void Flusher::gather(std::unique_lock<std::mutex>& lock) {
  wake_.wait_for(lock, kGatherMax, [this] { return is_stopping_ || requests_ >= requests_expected_; });
  requests_expected_ = std::max<std::uint64_t>({1, requests_, requests_last_});
  requests_last_ = requests_;
}

void Flusher::sync(std::unique_lock<std::mutex>& lock) {
  requests_ = 0;
  has_backlog_ = false;
  lock.unlock();
  static_cast<void>(journal_.flush());
  tell();
  lock.lock();
  progress_.notify_all();
}

// Whoever flushed or failed: a rotation does both as well.
void Flusher::tell() {
  const Ticket synced = journal_.synced();
  const bool has_failed = journal_.failure().has_value();
  if (synced == told_ && has_failed == has_told_failure_) return;
  told_ = synced;
  has_told_failure_ = has_failed;
  if (hooks_.on_progress) hooks_.on_progress();
}

}  // namespace mete::journal
