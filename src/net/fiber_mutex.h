// FiberMutex: a lock that may be held while its holder waits for a network or a disk. A fiber that wants it lets its
// event loop work on; a std::mutex would stop the loop, and with it the fiber that is to let it go.
//
//     const std::lock_guard lock(mutex);   // as with any other
//
// NamedLocks: one such lock for each name, for as long as somebody has it or waits for it.
//
//     const auto lock = locks.lock("api");
//
// Thread safety: every call from any thread; unlock() by whoever has it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "net/signal.h"

namespace mete::net {

class FiberMutex {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    is_free_.wait(guard, Deadline::in(Duration::never()), [this] { return !is_locked_; });
    is_locked_ = true;
  }
  void unlock() {
    const std::lock_guard guard(mutex_);
    is_locked_ = false;
    is_free_.notify_one();
  }

 private:
  std::mutex mutex_;  // held for a moment only
  Signal is_free_;
  bool is_locked_ = false;
};

class NamedLocks {
 private:
  struct Entry {
    Signal is_free;
    bool is_locked = false;
    std::size_t users = 0;  // whoever has it, and those that wait
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

 public:
  class Lock {
   public:
    Lock(NamedLocks& locks, Entries::iterator entry) : locks_(locks), entry_(entry) {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { locks_.unlock(entry_); }

   private:
    NamedLocks& locks_;
    const Entries::iterator entry_;
  };

  [[nodiscard]] Lock lock(std::string_view name) {
    std::unique_lock guard(mutex_);
    auto found = entries_.find(name);
    if (found == entries_.end()) found = entries_.try_emplace(std::string(name)).first;
    Entry& entry = found->second;
    ++entry.users;
    entry.is_free.wait(guard, Deadline::in(Duration::never()), [&entry] { return !entry.is_locked; });
    entry.is_locked = true;
    return {*this, found};
  }

 private:
  void unlock(Entries::iterator entry) {
    const std::lock_guard guard(mutex_);
    if (--entry->second.users == 0) {
      entries_.erase(entry);
      return;
    }
    entry->second.is_locked = false;
    entry->second.is_free.notify_one();
  }

  std::mutex mutex_;  // held for a moment only
  Entries entries_;
};

}  // namespace mete::net
