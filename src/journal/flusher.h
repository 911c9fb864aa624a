// Flusher: the thread that takes a journal to the disk.
//
//   - When somebody asks: one sync serves all who asked before it started (group commit).
//   - Otherwise every kInterval, if there is something.
//   - In between it writes out, without a sync, what has become a backlog, so that a process that is killed loses
//   little.
//
// Clients who wait for their answer come back together after each sync. A sync that starts for the first of them would
// leave all the others to the next one; so where several asked for the last syncs, it waits for as many again, but no
// longer than kGatherMax.
//
// Ownership: borrows the Journal, which it outlives by nothing: the destructor flushes what is left.
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "journal/journal.h"

namespace mete::journal {

struct FlusherHooks {
  std::function<void()> on_progress = {};  // whenever synced() has grown, and at the failure
  std::function<void()> on_interval = {};  // every kInterval, and at the end: a last chance to append
};

class Flusher {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};
  static constexpr std::chrono::microseconds kGatherMax{100};

  // The hooks are called on the flusher's thread.
  explicit Flusher(Journal& journal, FlusherHooks hooks = {});
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;
  ~Flusher();

  // Asks that what has been appended so far reaches the disk now. It does not wait.
  void request();
  // Asks, and waits until the ticket is on disk.
  Result<void> wait(Ticket ticket);

 private:
  void run();
  void gather(std::unique_lock<std::mutex>& lock);
  void end_interval(std::unique_lock<std::mutex>& lock);
  void sync(std::unique_lock<std::mutex>& lock);
  void tell();

  Journal& journal_;
  const FlusherHooks hooks_;

  std::mutex mutex_;
  std::condition_variable wake_;      // the flusher
  std::condition_variable progress_;  // those who wait
  bool is_stopping_ = false;
  bool has_backlog_ = false;
  std::uint64_t requests_ = 0;           // since the last sync started
  std::uint64_t requests_expected_ = 1;  // before the next one starts
  std::uint64_t requests_last_ = 0;      // for the last sync

  // The flusher's own: what on_progress was last called for.
  Ticket told_ = 0;
  bool has_told_failure_ = false;

  std::thread thread_;  // the last member: it uses the others
};

}  // namespace mete::journal
