// PostgresStore: limits whose state is in a PostgreSQL, shared by all who use it: by this library, and by plain SQL
// within their own transactions. Every operation is one call of a function in the schema `mete` (sql/), which decides
// and tells by the server's clock; here its arguments are made, and its rows read.
//
// Thread safety: every call from any thread. One thread of its own puts away what has expired, and looks at the
// server's clock.
#pragma once

#include <mete/limiter.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/network/combiner.h"
#include "store/postgres/session.h"
#include "store/store.h"

namespace mete::store::postgres {

class PostgresStore final : public StoreOf<PostgresStore> {
 public:
  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);
  ~PostgresStore() override;

  [[nodiscard]] Instant now() const override { return session_.clock().now(); }
  [[nodiscard]] ClockStatus clock_status() const override { return session_.clock().status(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return session_.pool().status(); }

 private:
  friend class StoreOf<PostgresStore>;

  PostgresStore(Url url, const Options& options);

  Result<void> perform(const core::Define& define);
  Result<bool> perform(const core::Drop& drop);
  Result<std::optional<Limit>> perform(const core::FindLimit& find);
  Result<std::vector<std::string>> perform(const core::ListLimits& list);
  Result<void> perform(const core::Override& change);
  Result<std::optional<Amount>> perform(const core::FindOverride& find);
  Result<core::Verdict> perform(const core::Take& take);
  Result<void> perform(const core::TakeEach& takes);
  Result<std::optional<core::Verdict>> perform(const core::Recall& recall);
  Result<Settlement> perform(const core::Give& give);
  Result<core::Verdict> perform(const core::Hold& hold);
  Result<Settlement> perform(const core::Commit& commit);
  Result<Settlement> perform(const core::Cancel& cancel);
  Result<Duration> perform(const core::Extend& extend);
  Result<std::optional<HoldInfo>> perform(const core::FindHold& find);
  Result<std::vector<std::string>> perform(const core::ListHolds& list);
  Result<std::vector<std::string>> perform(const core::ListTagged& list);
  Result<Usage> perform(const core::ReadUsage& read);
  Result<Reconciliation> perform(const core::Reconcile& reconcile);
  Result<void> perform(const core::ShiftUsage& shifts);
  Result<UsagePage> perform(const core::ScanUsage& scan);
  Result<std::vector<HoldInfo>> perform(const core::OldestHolds& oldest);
  Result<void> perform(const core::Clear& clear);
  Result<StoreStatistics> perform(const core::ReadStatistics& read);

  // Calls.
  [[nodiscard]] std::int64_t floor_us() const { return static_cast<std::int64_t>(session_.clock().floor_us()); }
  Result<core::Verdict> peek(const Take& request);
  // `usages` as core/operations.h has them.
  Result<core::Verdict> told_verdict(const Rows& rows, std::size_t row, std::span<Usage> usages);
  Result<core::Verdict> decide(const Statement& statement, const Parameters& parameters, std::span<Usage> usages,
                               Session::Effect effect);
  Result<Settlement> settle(const Statement& statement, const Parameters& parameters, Session::Effect effect);
  void shift_together(const ShiftUsage& shifts);
  Result<std::vector<HoldInfo>> read_holds(const Statement& statement, const Parameters& parameters);
  Result<std::vector<std::string>> read_ids(const Statement& statement, const Parameters& parameters);

  // What nearly every operation is, together with those of other callers (postgres_plain.cc).
  struct PlainCharge {
    Charge charge;
    std::string_view id = {};  // of a hold; empty for a take
    bool is_id_random = false;
    std::int64_t ttl_us = 0;
    std::string_view tag = {};
    Result<core::Verdict> answer = core::Verdict{};
    std::uint64_t lane = 0;  // none: those on one meter wait for each other at the server
  };
  // Measured: with more of them too few charges come together, and with one alone PostgreSQL has nothing to do while an
  // answer is on its way.
  static constexpr std::size_t kCallsNear = 2;
  static constexpr std::size_t kCallsFar = 64;
  static constexpr std::size_t kTogetherMax = 128;  // each holds its rows until all of them are done
  Result<core::Verdict> decide_plainly(PlainCharge& plain);
  void decide_alone(PlainCharge& plain);
  // False: nothing was done, and each is to be tried alone.
  bool decide_together(std::span<PlainCharge* const> charges);

  // Upkeep (postgres_upkeep.cc).
  // All of them, in the order of their names, or the one of that name.
  Result<std::vector<Limit>> read_limits(std::optional<std::string_view> name);
  Result<void> look_at_clock();
  void keep_up();
  void put_away_expired(bool sweeps);
  void make_months();
  void count();

  Session session_;
  const std::int64_t retention_us_;
  Combiner<PlainCharge> together_;
  std::atomic<std::uint64_t> expired_holds_{0};
  std::mutex counts_mutex_;
  StoreStatistics counts_;  // as of less than a minute ago; under counts_mutex_
  std::mutex stop_mutex_;
  std::condition_variable stop_wanted_;
  bool is_stopping_ = false;  // under stop_mutex_
  std::thread upkeep_;        // last: it uses all of the above
};

}  // namespace mete::store::postgres
