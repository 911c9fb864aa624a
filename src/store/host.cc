#include "store/host.h"

#include "store/elsewhere.h"

namespace mete::store {

void Host::run(StartedCall& call, Execution& execution) {
  Limiter limiter(*this, execution);
  call.run(limiter);
}

void Host::refuse(StartedCall& call, const char* reason) {
  call.fail(Error{ErrorCode::kUnavailable, reason});
  call.complete();
}

EmbeddedHost::EmbeddedHost(std::unique_ptr<Store> store) : Host(std::move(store)), disk_(Host::store().persistence()) {
  if (disk_ == nullptr) return;
  disk_->on_progress([this] {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
}

EmbeddedHost::~EmbeddedHost() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (disk_ != nullptr) disk_->on_progress(nullptr);
}

void EmbeddedHost::start(StartedCall& call) {
  if (disk_ != nullptr && is_full()) return refuse(call, kTooMany);
  Execution execution = {.waits_for_disk = false};
  run(call, execution);
  if (execution.ticket == 0 || execution.ticket <= disk_->synced()) return call.complete();
  complete_later({execution.ticket, call.keep()});
}

bool EmbeddedHost::is_full() {
  const std::lock_guard lock(mutex_);
  return waiting_.size() >= kStartedMax;
}

void EmbeddedHost::complete_later(Waiting waiting) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(waiting));
    if (!thread_.joinable()) thread_ = std::thread([this] { complete_until_stopped(); });
    changed_.notify_all();
  }
  disk_->request_sync();
}

void EmbeddedHost::complete_until_stopped() {
  const auto can_go_on = [this] {
    if (waiting_.empty()) return is_stopping_;
    return disk_->synced() >= waiting_.front().ticket || disk_->failure().has_value();
  };
  for (std::unique_lock lock(mutex_);; lock.lock()) {
    changed_.wait(lock, can_go_on);
    if (waiting_.empty()) return;
    const Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (disk_->synced() < first.ticket) first.call->fail(*disk_->failure());
    first.call->complete();
  }
}

std::unique_ptr<Host> make_host(std::unique_ptr<Store> store) {
  if (mete_stores != nullptr && store->remote().has_value()) return mete_stores()->make_host(std::move(store));
  return std::make_unique<EmbeddedHost>(std::move(store));
}

}  // namespace mete::store
