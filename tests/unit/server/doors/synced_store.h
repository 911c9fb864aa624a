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

  Result<void> saved = Done{};
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

// Takes, gives and holds have tickets; what only looks has none.
class SyncedStore final : public store::Store {
 public:
  explicit SyncedStore(const Options& options = {}) : inner_(options) {}

  [[nodiscard]] Instant now() const override { return inner_.now(); }
  [[nodiscard]] store::Keys* keys() override { return inner_.keys(); }
  [[nodiscard]] store::Persistence* persistence() override { return &disk; }

  ManualPersistence disk;

 private:
  // What `change` answers, once it is on disk or its ticket is noted.
  template <class Change>
  auto write(Change change) -> decltype(change()) {
    if (const auto failure = disk.failure()) return tl::make_unexpected(*failure);
    auto answer = change();
    const store::Ticket ticket = disk.issue();
    if (store::Deferral* const deferral = store::Deferral::current()) {
      deferral->note(ticket);
      return answer;
    }
    disk.request_sync();
    disk.wait_until_synced(ticket);
    if (const auto failure = disk.failure()) return tl::make_unexpected(*failure);
    return answer;
  }

  Result<void> do_define(const Limit& limit) override { return inner_.define(limit); }
  Result<bool> do_drop(std::string_view name) override {
    return write([&] { return inner_.drop(name); });
  }
  Result<std::optional<Limit>> do_limit(std::string_view name) override { return inner_.limit(name); }
  Result<std::vector<std::string>> do_limits() override { return inner_.limits(); }
  Result<void> do_set_override(const store::MeterName& meter, std::optional<Amount> amount) override {
    return write([&] { return inner_.set_override(meter, amount); });
  }
  Result<std::optional<Amount>> do_override_of(const store::MeterName& meter) override {
    return inner_.override_of(meter);
  }
  Result<core::Verdict> do_take(const store::TakeRequest& request) override {
    if (request.mode == Mode::kPeek) return inner_.take(request);
    return write([&] { return inner_.take(request); });
  }
  Result<std::optional<core::Verdict>> do_recall(const store::TakeRequest& request) override {
    return inner_.recall(request);
  }
  Result<Settlement> do_give(std::span<const Charge> charges, std::string_view id) override {
    return write([&] { return inner_.give(charges, id); });
  }
  Result<core::Verdict> do_hold(const store::HoldRequest& request) override {
    return write([&] { return inner_.hold(request); });
  }
  Result<Settlement> do_commit(const store::CommitRequest& request) override {
    return write([&] { return inner_.commit(request); });
  }
  Result<Settlement> do_cancel(std::string_view id) override {
    return write([&] { return inner_.cancel(id); });
  }
  Result<Duration> do_extend(std::string_view id, Duration ttl) override {
    return write([&] { return inner_.extend(id, ttl); });
  }
  Result<std::optional<HoldInfo>> do_find_hold(std::string_view id) override { return inner_.find_hold(id); }
  Result<std::vector<std::string>> do_holds(const store::MeterName& meter, std::size_t count_max) override {
    return inner_.holds(meter, count_max);
  }
  Result<std::vector<std::string>> do_holds_tagged(std::string_view tag) override { return inner_.holds_tagged(tag); }
  Result<Usage> do_usage(const store::MeterName& meter) override { return inner_.usage(meter); }
  Result<Reconciliation> do_reconcile(const store::MeterName& meter, Amount used) override {
    return write([&] { return inner_.reconcile(meter, used); });
  }
  void do_shift(const store::ShiftRequest& request, std::span<Result<store::Shifted>> answers) override {
    const auto done = write([&]() -> Result<void> {
      inner_.shift(request, answers);
      return {};
    });
    if (!done) std::fill(answers.begin(), answers.end(), tl::make_unexpected(done.error()));
  }
  Result<UsagePage> do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) override {
    return inner_.scan(limit, cursor, count);
  }
  Result<std::vector<HoldInfo>> do_oldest_holds(std::size_t count_max) override {
    return inner_.oldest_holds(count_max);
  }
  Result<void> do_clear() override {
    return write([&] { return inner_.clear(); });
  }
  store::StoreStatistics do_statistics() override { return inner_.statistics(); }

  store::EmbeddedStore inner_;
};

}  // namespace mete::server::testing
