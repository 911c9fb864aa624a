// FiberHost: carries out the calls that are given to Limiter::start() where the store lies elsewhere. They run on the
// fibers of one thread, which begins with the first of them, and share the connections of its event loop.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "net/fiber_thread.h"
#include "store/host.h"

namespace mete::store {

class FiberHost final : public Host {
 public:
  using Host::Host;
  ~FiberHost() override;

  void start(StartedCall& call) override;

 private:
  void carry_out(StartedCall& call);

  std::atomic<std::size_t> under_way_{0};
  std::atomic<bool> is_closing_{false};
  std::once_flag begun_;
  std::unique_ptr<net::FiberThread> thread_;
};

}  // namespace mete::store
