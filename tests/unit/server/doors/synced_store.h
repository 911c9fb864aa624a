// A store in memory that hands out tickets, as one does that keeps files, and syncs when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "store/embedded/embedded_store.h"

namespace mete::server::testing {

class ManualPersistence final : public store::Persistence {
 public:
  store::Ticket issue() {
    const std::lock_guard lock(mutex_);
    return ++issued_;
  }
  void sync_to(store::Ticket ticket) {
    change([&] { synced_ = ticket; });
  }
  void sync_all() {
    change([&] { synced_ = issued_; });
  }
  void fail(const std::string& reason) {
    change([&] { failure_ = Error{ErrorCode::kUnavailable, reason}; });
  }
  // Whether what is asked for is done on the spot.
  void sync_at_once() { is_instant_ = true; }
  void sync_when_told() { is_instant_ = false; }
  void wait_until_requested(store::Ticket ticket) {
    std::unique_lock lock(mutex_);
    // Far longer than anything here takes: only a request that never comes meets it.
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return requested_ >= ticket; }));
  }
  void wait_until_synced(store::Ticket ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return synced_ >= ticket || failure_; });
  }
  store::Ticket issued() {
    const std::lock_guard lock(mutex_);
    return issued_;
  }
  std::uint64_t requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  [[nodiscard]] store::Ticket synced() const override {
    const std::lock_guard lock(mutex_);
    return synced_;
  }
  [[nodiscard]] std::optional<Error> failure() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void request_sync() override {
    {
      const std::lock_guard lock(mutex_);
      ++requests_;
      requested_ = issued_;
      changed_.notify_all();
    }
    if (is_instant_) sync_all();
  }
  void on_progress(std::function<void()> callback) override {
    const std::lock_guard lock(callback_mutex_);
    callback_ = std::move(callback);
  }
  Result<void> save() override { return saved; }
  Result<bool> start_saving() override { return started_saving; }
  [[nodiscard]] store::PersistenceStatus status() const override {
    store::PersistenceStatus now = told_status;
    now.failure = failure();
    return now;
  }

  Result<void> saved;
  Result<bool> started_saving = true;
  store::PersistenceStatus told_status;

 private:
  void change(const std::function<void()>& edit) {
    {
      const std::lock_guard lock(mutex_);
      edit();
      changed_.notify_all();
    }
    const std::lock_guard lock(callback_mutex_);
    if (callback_) callback_();
  }

  mutable std::mutex mutex_;
  std::mutex callback_mutex_;
  std::condition_variable changed_;
  store::Ticket issued_ = 0;
  store::Ticket requested_ = 0;
  store::Ticket synced_ = 0;
  std::uint64_t requests_ = 0;
  std::optional<Error> failure_;
  std::atomic<bool> is_instant_ = false;
  std::function<void()> callback_;
};

// What changes something has tickets; what only looks has none, nor has a definition, which tests make first.
class SyncedStore final : public store::StoreOf<SyncedStore> {
 public:
  explicit SyncedStore(const Options& options = {}) : inner_(options) {}

  [[nodiscard]] Instant now() const override { return inner_.now(); }
  [[nodiscard]] store::Persistence* persistence() override { return &disk; }

  ManualPersistence disk;

 private:
  friend class store::StoreOf<SyncedStore>;

  template <class What>
  static bool is_written(const What& operation) {
    if constexpr (std::is_same_v<What, core::Take>) {
      return operation.mode != Mode::kPeek;
    } else {
      constexpr core::Effect kEffect = What::kTraits.effect;
      return kEffect == core::Effect::kSettles && !core::kIsOnKeys<What> && !std::is_same_v<What, core::Define>;
    }
  }

  // What the operation is answered, once it is on disk or its ticket is noted.
  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& execution) {
    if (!is_written(operation)) return inner_.run(operation, execution);
    if (const auto failure = disk.failure()) return *failure;
    auto answer = inner_.run(operation, execution);
    const store::Ticket ticket = disk.issue();
    execution.note(ticket);
    if (!execution.waits_for_disk) return answer;
    disk.request_sync();
    disk.wait_until_synced(ticket);
    if (const auto failure = disk.failure()) return *failure;
    return answer;
  }
  Result<void> perform(const core::TakeEach& takes, store::Execution& execution) {
    for (std::size_t i = 0; i < takes.charges.size(); ++i) {
      takes.answers[i] = perform(core::Take{.charges = takes.charges.subspan(i, 1)}, execution);
    }
    return {};
  }

  store::EmbeddedStore inner_;
};

}  // namespace mete::server::testing
