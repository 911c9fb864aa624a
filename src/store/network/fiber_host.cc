#include "store/network/fiber_host.h"

namespace mete::store {

namespace {

// More calls than these would help no server, and each has a stack.
constexpr std::size_t kFibersMax = 1024;

}  // namespace

FiberHost::~FiberHost() {
  is_closing_ = true;
  if (thread_ != nullptr) thread_->finish();  // Completions may still start calls.
}

void FiberHost::start(StartedCall& call) {
  if (under_way_.fetch_add(1) >= kStartedMax) {
    --under_way_;
    return refuse(call, kTooMany);
  }
  std::call_once(begun_, [this] { thread_ = std::make_unique<net::FiberThread>(kFibersMax); });
  thread_->run([this, kept = std::shared_ptr<StartedCall>(call.keep())] { carry_out(*kept); });
}

void FiberHost::carry_out(StartedCall& call) {
  if (is_closing_) {
    --under_way_;
    return refuse(call, "start: the limiter was closed before it came to this call; nothing was done");
  }
  Execution execution;
  run(call, execution);
  --under_way_;
  call.complete();
}

}  // namespace mete::store
