// EtcdStore: limits whose state is in an etcd cluster, shared by all who use it, and lost by none of them: what is
// acknowledged, a majority of the members has on disk.
//
// It has no rules of its own: transactor.h says how the engine decides on keys of etcd. etcd has no clock: time is this
// machine's, and never before what the keys carry (docs/etcd.md).
//
// Thread safety: every call from any thread. One thread of its own takes away what has expired.
#pragma once

#include <mete/limiter.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/try.h"
#include "engine/operations.h"
#include "store/etcd/client.h"
#include "store/etcd/sweeper.h"
#include "store/etcd/transactor.h"
#include "store/store.h"
#include "store/store_clock.h"

namespace mete::store::etcd {

class EtcdStore final : public StoreOf<EtcdStore> {
 public:
  // All of a meter's parts lie in one value, which is written as a whole; with so many of them, and ids of up to 32
  // bytes, sixteen meters fit into one transaction.
  static constexpr std::size_t kOpenHoldsMax = 1000;

  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);
  ~EtcdStore() override;

  [[nodiscard]] Instant now() const override { return clock_->now(); }
  [[nodiscard]] ClockStatus clock_status() const override { return transactor_.clock_status(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return client_.status(); }

 private:
  friend class StoreOf<EtcdStore>;

  EtcdStore(const Url& url, std::unique_ptr<net::TlsClient> tls, const Options& options);

  // What the engine decides on the entries that the operation names.
  template <class What>
  Result<typename What::Answer> perform(const What& operation);

  // What changes nothing unless it is allowed, or goes in parts (etcd_store.cc, etcd_takes.cc, etcd_holds.cc).
  Result<core::Verdict> perform(const core::Take& take);
  Result<void> perform(const core::TakeEach& takes);
  Result<core::Verdict> perform(const core::Hold& hold);
  Result<void> perform(const core::ShiftUsage& shifts);
  void take_together(const core::TakeEach& takes);
  Result<void> perform(const core::KeysEach& keys);

  // Definitions (etcd_definitions.cc).
  Result<void> perform(const core::Define& define);
  Result<bool> perform(const core::Drop& drop);
  Result<std::optional<Limit>> perform(const core::FindLimit& find);
  Result<std::vector<std::string>> perform(const core::ListLimits& list);
  Result<void> forget_revisions(const Limit& limit);

  // Listings, and all of it.
  Result<std::vector<std::string>> perform(const core::ListTagged& list);
  Result<std::vector<HoldInfo>> perform(const core::OldestHolds& oldest);
  Result<UsagePage> perform(const core::ScanUsage& scan);
  Result<core::KeyPage> perform(const core::ScanKeys& scan);
  Result<std::size_t> perform(const core::CountKeys& count);
  Result<void> perform(const core::Clear& clear);
  Result<StoreStatistics> perform(const core::ReadStatistics& read);

  // Runs it on the entries; unless `may_run`, which is asked first, sees that it must not.
  template <class What, class MayRun>
  Result<typename What::Answer> decide(std::vector<EntryName> entries, const What& operation, MayRun may_run);
  template <class What>
  Result<typename What::Answer> decide(std::vector<EntryName> entries, const What& operation) {
    return decide(std::move(entries), operation, [](engine::Engine&, Instant) { return true; });
  }
  // On the entries of its hold.
  template <class What>
  Result<typename What::Answer> decide_on_hold(const What& operation);
  Result<std::vector<EntryName>> entries_of_hold(std::string_view id);
  void note_hold(std::string_view id, const std::vector<EntryName>& entries);
  std::optional<std::vector<EntryName>> noted_hold(std::string_view id);

  const std::unique_ptr<StoreClock> clock_;
  Client client_;
  Transactor transactor_;
  std::mutex holds_mutex_;
  // What an operation on a hold that was made here touches: then it need not be read first. Under holds_mutex_.
  std::map<std::string, std::vector<EntryName>, std::less<>> holds_;
  Sweeper sweeper_;  // last: its thread uses all of the above
};

// --- What the store's sources share ----------------------------------------------------------------------------------

inline std::vector<EntryName> charged_entries(std::span<const Charge> charges, std::string_view id = {}) {
  std::vector<EntryName> entries;
  for (const Charge& charge : charges) add_meter(entries, charge.limit, charge.key);
  if (!id.empty()) entries.push_back({Space::kOperation, {}, std::string(id)});
  return entries;
}

// NOLINTBEGIN(performance-unnecessary-value-param): the entries are moved on
template <class What, class MayRun>
Result<typename What::Answer> EtcdStore::decide(std::vector<EntryName> entries, const What& operation, MayRun may_run) {
  // NOLINTEND(performance-unnecessary-value-param)
  constexpr bool kReads = What::kTraits.effect == core::Effect::kReads || std::is_same_v<What, core::Recall>;
  Result<typename What::Answer> answer = Error();
  Call call = {.entries = std::move(entries),
               .decide =
                   [&](engine::Engine& engine, Instant now) {
                     if (!may_run(engine, now)) return false;
                     answer = engine::run(engine, operation, now);
                     return !kReads && answer.has_value();
                   },
               .is_repeatable = core::is_repeatable(operation)};
  TRY(kReads ? transactor_.read(call) : transactor_.change(call));
  return answer;
}

}  // namespace mete::store::etcd
