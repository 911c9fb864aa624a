// MeteStore: state that other Mete servers keep, each the keys that Rendezvous gives it.
//
// Definitions are at all of them. A meter, its override and its holds are at the server of its key, and what is
// remembered of an id is at the server of the first key that it was used with. An operation is atomic, as it happens at
// one server whole; charges whose keys are at several are refused. While a server is away its keys are unavailable, or
// open where their limits say so, and all others go on.
//
// The server decides everything, by its own clock; nothing is kept here but what KnownLimits says.
#pragma once

#include <mete/limiter.h>

#include <atomic>
#include <memory>
#include <utility>

#include "store/mete/known_limits.h"
#include "store/mete/mete_keys.h"
#include "store/mete/server_group.h"
#include "store/store.h"

namespace mete::store::servers {

class MeteStore final : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);

  [[nodiscard]] Instant now() const override { return group_->now(); }
  [[nodiscard]] Keys* keys() override { return &keys_; }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return group_->status(); }
  [[nodiscard]] std::string new_hold_id(std::span<const Charge> charges) const override;

 private:
  explicit MeteStore(std::unique_ptr<ServerGroup> group) : group_(std::move(group)) {}

  // Limits (mete_limits.cc).
  Result<void> do_define(const Limit& limit) override;
  Result<bool> do_drop(std::string_view name) override;
  Result<std::optional<Limit>> do_limit(std::string_view name) override;
  Result<std::vector<std::string>> do_limits() override;
  Result<void> do_set_override(const MeterName& meter, std::optional<Amount> amount) override;
  Result<std::optional<Amount>> do_override_of(const MeterName& meter) override;

  // Takes, and the other operations on meters (mete_takes.cc).
  Result<core::Verdict> do_take(const TakeRequest& request) override;
  void do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) override;
  Result<std::optional<core::Verdict>> do_recall(const TakeRequest& request) override;
  Result<Settlement> do_give(std::span<const Charge> charges, std::string_view id) override;
  Result<Usage> do_usage(const MeterName& meter) override;
  Result<Reconciliation> do_reconcile(const MeterName& meter, Amount used) override;
  void do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) override;
  // Takes of keys of one server, by their numbers among the charges.
  void take_there(Server& server, std::span<const Charge> charges, std::span<const std::size_t> numbers,
                  std::span<Result<core::Verdict>> answers);
  void shift_there(Server& server, const ShiftRequest& request, std::span<const std::size_t> numbers,
                   std::span<Result<Shifted>> answers);
  // Asks for what should be known of the charges' limits, behind the takes of the call; and reads it.
  std::vector<std::string_view> add_due_limits(std::span<const Charge> charges, Call& call);
  void learn(const Server& server, Call& call, std::span<const std::string_view> names);
  Result<core::Verdict> read_take(const Server& server, const TakeRequest& request,
                                  const Result<wire::RespValue>& reply);
  Result<core::Verdict> admit_open(const TakeRequest& request, const Error& error);

  // Holds (mete_holds.cc).
  Result<core::Verdict> do_hold(const HoldRequest& request) override;
  Result<Settlement> do_commit(const CommitRequest& request) override;
  Result<Settlement> do_cancel(std::string_view id) override;
  Result<Duration> do_extend(std::string_view id, Duration ttl) override;
  Result<std::optional<HoldInfo>> do_find_hold(std::string_view id) override;
  Result<std::vector<std::string>> do_holds(const MeterName& meter, std::size_t count_max) override;
  Result<std::vector<std::string>> do_holds_tagged(std::string_view tag) override;
  Result<std::vector<HoldInfo>> do_oldest_holds(std::size_t count_max) override;

  // All there is (mete_store.cc).
  Result<UsagePage> do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) override;
  Result<void> do_clear() override;
  StoreStatistics do_statistics() override;

  std::unique_ptr<ServerGroup> group_;
  MeteKeys keys_{*group_};
  KnownLimits known_;
  std::atomic<std::uint64_t> unrecorded_admissions_{0};
};

}  // namespace mete::store::servers
