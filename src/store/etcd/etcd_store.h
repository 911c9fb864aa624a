// EtcdStore: limits whose state is in an etcd cluster, shared by all who use it, and lost by none of them: what is
// acknowledged, a majority of the members has on disk.
//
// It has no rules of its own: transactor.h says how the engine decides on keys of etcd. etcd has no clock: time is this
// machine's, and never before what the keys carry (docs/etcd.md).
//
// Thread safety: every call from any thread. One thread of its own takes away what has expired.
#pragma once

#include <mete/limiter.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/etcd_keys.h"
#include "store/etcd/seen_limits.h"
#include "store/etcd/sweeper.h"
#include "store/etcd/transactor.h"
#include "store/store.h"
#include "store/store_clock.h"

namespace mete::store::etcd {

class EtcdStore final : public Store {
 public:
  // All of a meter's parts lie in one value, which is written as a whole; with so many of them, and ids of up to 32
  // bytes, sixteen meters fit into one transaction.
  static constexpr std::size_t kOpenHoldsMax = 1000;

  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);
  ~EtcdStore() override;

  [[nodiscard]] Instant now() const override { return clock_->now(); }
  [[nodiscard]] Keys* keys() override { return &keys_; }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return client_.status(); }

 private:
  EtcdStore(const Url& url, std::unique_ptr<net::TlsClient> tls, const Options& options);

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

  // An answer from what is read.
  template <class Use>
  auto ask(std::vector<EntryName> entries, Use use) -> decltype(use(std::declval<engine::Engine&>(), Instant()));
  // An operation that changes something, unless it is refused.
  enum class Repeatable : bool { kNo, kYes };
  template <class Use>
  auto act(std::vector<EntryName> entries, Use use, Repeatable repeatable = Repeatable::kNo)
      -> decltype(use(std::declval<engine::Engine&>(), Instant()));

  // Takes (etcd_takes.cc).
  Result<core::Verdict> admit_open(const TakeRequest& request, const Error& error);
  void take_together(std::span<const Charge> charges, std::span<const std::size_t> which,
                     std::span<Result<core::Verdict>> answers);

  // Holds (etcd_holds.cc).
  template <class Use>
  auto act_on_hold(std::string_view id, Use use, Repeatable repeatable = Repeatable::kNo)
      -> decltype(use(std::declval<engine::Engine&>(), Instant()));
  Result<std::vector<EntryName>> entries_of_hold(std::string_view id);
  void note_hold(std::string_view id, const std::vector<EntryName>& entries);
  std::optional<std::vector<EntryName>> noted_hold(std::string_view id);

  // Definitions (etcd_definitions.cc).
  Result<void> forget_revisions(const Limit& limit);

  const std::unique_ptr<StoreClock> clock_;
  Client client_;
  SeenLimits book_;
  Transactor transactor_;
  EtcdKeys keys_;
  std::atomic<std::uint64_t> unrecorded_admissions_{0};
  std::mutex holds_mutex_;
  // What an operation on a hold that was made here touches: then it need not be read first. Under holds_mutex_.
  std::map<std::string, std::vector<EntryName>, std::less<>> holds_;
  Sweeper sweeper_;  // last: its thread uses all of the above
};

// --- What the store's sources share ----------------------------------------------------------------------------------

inline Charge charge_of(const MeterName& meter) { return {.limit = meter.limit, .key = meter.key, .cost = 0}; }

inline std::vector<EntryName> entries_of(std::span<const Charge> charges, std::string_view id = {}) {
  std::vector<EntryName> entries;
  for (const Charge& charge : charges) add_meter(entries, charge.limit, charge.key);
  if (!id.empty()) entries.push_back({Space::kOperation, {}, std::string(id)});
  return entries;
}
inline std::vector<EntryName> entries_of(const MeterName& meter) {
  const Charge charge = charge_of(meter);
  return entries_of({&charge, 1});
}

// NOLINTBEGIN(performance-unnecessary-value-param): the entries are moved on
template <class Use>
auto EtcdStore::ask(std::vector<EntryName> entries, Use use)
    -> decltype(use(std::declval<engine::Engine&>(), Instant())) {
  decltype(use(std::declval<engine::Engine&>(), Instant())) answer = tl::unexpected(Error());
  Call call = {.entries = std::move(entries), .decide = [&](engine::Engine& engine, Instant now) {
                 answer = use(engine, now);
                 return false;
               }};
  if (auto done = transactor_.read(call); !done) return tl::unexpected(done.error());
  return answer;
}

template <class Use>
auto EtcdStore::act(std::vector<EntryName> entries, Use use, Repeatable repeatable)
    -> decltype(use(std::declval<engine::Engine&>(), Instant())) {
  decltype(use(std::declval<engine::Engine&>(), Instant())) answer = tl::unexpected(Error());
  Call call = {.entries = std::move(entries),
               .decide =
                   [&](engine::Engine& engine, Instant now) {
                     answer = use(engine, now);
                     return answer.has_value();
                   },
               .is_repeatable = repeatable == Repeatable::kYes};
  if (auto done = transactor_.change(call); !done) return tl::unexpected(done.error());
  return answer;
}

// NOLINTEND(performance-unnecessary-value-param)

}  // namespace mete::store::etcd
