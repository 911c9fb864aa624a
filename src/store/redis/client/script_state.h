// ScriptState: whether a node has the scripts, and who loads them: one thread, however many find out that they are
// missing.
//
// A call notes loads() before it sends anything. If it hears NOSCRIPT, the scripts were missing at that time: it loads
// them only if nobody has done so since, and nobody is about to. Thread safety: every call from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace mete::store::redis {

class ScriptState {
 public:
  [[nodiscard]] std::uint64_t loads() const { return loads_.load(std::memory_order_acquire); }
  [[nodiscard]] bool are_loaded() const { return are_loaded_.load(std::memory_order_relaxed); }

  // Whether the caller is to load them: it must say finished() then.
  [[nodiscard]] bool begin(std::uint64_t loads_noted) {
    const std::lock_guard lock(mutex_);
    if (is_loading_ || loads_noted != loads()) return false;
    is_loading_ = true;
    return true;
  }
  void finished(bool with_success) {
    const std::lock_guard lock(mutex_);
    is_loading_ = false;
    if (!with_success) return;
    are_loaded_.store(true, std::memory_order_relaxed);
    loads_.fetch_add(1, std::memory_order_release);
  }
  // A connection was lost: perhaps the node was started anew.
  void doubt() { are_loaded_.store(false, std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  bool is_loading_ = false;
  std::atomic<bool> are_loaded_ = false;
  std::atomic<std::uint64_t> loads_ = 0;
};

}  // namespace mete::store::redis
