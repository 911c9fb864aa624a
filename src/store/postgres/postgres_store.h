// PostgresStore: limits whose state is in a PostgreSQL, shared by all who use it: by this library, and by plain SQL
// within their own transactions. Every operation is one call of a function in the schema `mete` (sql/), which decides
// and tells by the server's clock; here its arguments are made, and its rows read.
//
// Thread safety: every call from any thread. One thread of its own puts away what has expired, and keeps a copy of the
// limits for the time when the server is away.
#pragma once

#include <mete/limiter.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/combiner.h"
#include "store/postgres/session.h"
#include "store/store.h"

namespace mete::store::postgres {

class PostgresStore final : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);
  ~PostgresStore() override;

  [[nodiscard]] Instant now() const override { return session_.clock().now(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return session_.pool().status(); }

 private:
  using Book = std::map<std::string, Limit, std::less<>>;

  PostgresStore(Url url, const Options& options);

  Result<void> do_define(const Limit& limit) override;
  Result<bool> do_drop(std::string_view name) override;
  Result<std::optional<Limit>> do_limit(std::string_view name) override;
  Result<std::vector<std::string>> do_limits() override;
  Result<void> do_set_override(const MeterName& meter, std::optional<Amount> amount) override;
  Result<std::optional<Amount>> do_override_of(const MeterName& meter) override;
  Result<core::Verdict> do_take(const TakeRequest& request) override;
  void do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) override;
  Result<std::optional<core::Verdict>> do_recall(const TakeRequest& request) override;
  Result<Settlement> do_give(std::span<const Charge> charges, std::string_view id) override;
  Result<core::Verdict> do_hold(const HoldRequest& request) override;
  Result<Settlement> do_commit(const CommitRequest& request) override;
  Result<Settlement> do_cancel(std::string_view id) override;
  Result<Duration> do_extend(std::string_view id, Duration ttl) override;
  Result<std::optional<HoldInfo>> do_find_hold(std::string_view id) override;
  Result<std::vector<std::string>> do_holds(const MeterName& meter, std::size_t count_max) override;
  Result<std::vector<std::string>> do_holds_tagged(std::string_view tag) override;
  Result<Usage> do_usage(const MeterName& meter) override;
  Result<Reconciliation> do_reconcile(const MeterName& meter, Amount used) override;
  void do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) override;
  Result<UsagePage> do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) override;
  Result<std::vector<HoldInfo>> do_oldest_holds(std::size_t count_max) override;
  Result<void> do_clear() override;
  StoreStatistics do_statistics() override;

  // Calls.
  [[nodiscard]] std::int64_t floor_us() const { return static_cast<std::int64_t>(session_.clock().floor_us()); }
  Result<core::Verdict> peek(const TakeRequest& request);
  // `usages` as core/requests.h has them.
  Result<core::Verdict> decide(const Statement& statement, const Parameters& parameters, std::span<Usage> usages,
                               Session::Effect effect);
  Result<Settlement> settle(const Statement& statement, const Parameters& parameters);
  Result<core::Verdict> admit_open(const TakeRequest& request, const Error& error);
  void shift_together(const ShiftRequest& request, std::span<Result<Shifted>> answers);
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
  };
  // One in so many of the pool's connections is for these. Measured with a pool of 16: with more of them too few
  // charges come together, and with one alone PostgreSQL has nothing to do while an answer is on its way.
  static constexpr std::size_t kConnectionsPerCall = 8;
  static constexpr std::size_t kTogetherMax = 128;  // each holds its rows until all of them are done
  Result<core::Verdict> decide_plainly(PlainCharge& plain);
  void decide_alone(PlainCharge& plain);
  // False: nothing was done, and each is to be tried alone.
  bool decide_together(std::span<PlainCharge* const> charges);

  // Upkeep (postgres_upkeep.cc).
  Result<std::shared_ptr<const Book>> refresh_book();
  [[nodiscard]] std::shared_ptr<const Book> book() const { return std::atomic_load(&book_); }
  void keep_up();
  void put_away_expired(bool sweeps);
  void make_months();
  void count();

  Session session_;
  const std::int64_t retention_us_;
  Combiner<PlainCharge> together_;
  std::shared_ptr<const Book> book_ = std::make_shared<const Book>();
  std::atomic<std::uint64_t> unrecorded_admissions_{0};
  std::atomic<std::uint64_t> expired_holds_{0};
  std::mutex counts_mutex_;
  StoreStatistics counts_;  // as of less than a minute ago; under counts_mutex_
  std::mutex stop_mutex_;
  std::condition_variable stop_wanted_;
  bool is_stopping_ = false;  // under stop_mutex_
  std::thread upkeep_;        // last: it uses all of the above
};

}  // namespace mete::store::postgres
