// Host: a limiter's store, and who carries out the calls that are given to Limiter::start().
//
//     in this process   EmbeddedHost: at once; one thread completes the calls whose answers had to reach the disk first
//     elsewhere         FiberHost (network/fiber_host.h): on the fibers of one thread
//
// Ownership: owns the store. Thread safety: every call from any thread.
#pragma once

#include <mete/limiter.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "store/store.h"

namespace mete::store {

class Host {
 public:
  explicit Host(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  // Every call that was started is completed by then.
  virtual ~Host() = default;

  [[nodiscard]] Store& store() const { return *store_; }
  virtual void start(StartedCall& call) = 0;

 protected:
  void run(StartedCall& call, Execution& execution);
  // Completes a call that is not carried out.
  static void refuse(StartedCall& call, const char* reason);

  static constexpr const char* kTooMany = "start: too many calls are under way; nothing was done";

 private:
  std::unique_ptr<Store> store_;
};

class EmbeddedHost final : public Host {
 public:
  explicit EmbeddedHost(std::unique_ptr<Store> store);
  ~EmbeddedHost() override;

  void start(StartedCall& call) override;

 private:
  struct Waiting {
    Ticket ticket = 0;
    std::unique_ptr<StartedCall> call;
  };

  [[nodiscard]] bool is_full();
  void complete_later(Waiting waiting);
  void complete_until_stopped();

  Persistence* const disk_;  // null: everything is in memory
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool is_stopping_ = false;
  std::thread thread_;  // from the first call on that has to wait
};

// The one for such a store.
std::unique_ptr<Host> make_host(std::unique_ptr<Store> store);

}  // namespace mete::store
