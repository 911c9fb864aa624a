// Sweeper: a thread that goes round over the keys, lets holds expire, and takes away meters that are as fresh ones and
// ids whose time is over; and counts what there is. It never takes away what was changed meanwhile, so several of them,
// in several processes, do no harm to each other. Nothing but room in etcd waits for it.
//
// Thread safety: counts() from any thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "core/statistics.h"
#include "store/etcd/transactor.h"

namespace mete::store::etcd {

class Sweeper {
 public:
  // What it refers to outlives it.
  explicit Sweeper(Transactor& transactor) : transactor_(transactor) {}
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;
  ~Sweeper();

  void start();
  // As of half a minute ago, at most.
  [[nodiscard]] core::Statistics counts() const;

  // One page of one space; false: that was its last one, and the next page is of the next space. For tests, too.
  Result<bool> sweep_page();

 private:
  void run();
  void count();

  Transactor& transactor_;
  std::size_t space_ = 0;       // the one that it is at
  std::string after_ = {};      // the last key that it has seen there
  std::size_t open_holds_ = 0;  // so far, in this round
  std::size_t orphans_ = 0;     // the same
  mutable std::mutex mutex_;
  std::condition_variable stop_wanted_;
  core::Statistics counts_;  // under mutex_, as the next
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace mete::store::etcd
