// Store: the seam between the limiter and where its state lives. A store gives the core atomicity and a clock.
//
// The public calls check their arguments, once for all stores, and pass on what is valid; an adapter implements the
// private ones. Thread safety: every call from any thread.
//
// Adding a store: a folder below src/store with an adapter, a scheme in open.cc, and the store's name in the list of
// tests/conformance: the suite there is the definition of done.
#pragma once

#include <mete/decision.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/requests.h"
#include "core/statistics.h"
#include "core/verdict.h"
#include "store/keys.h"
#include "store/persistence.h"
#include "store/remote.h"

namespace mete::store {

using core::CommitRequest;
using core::HoldRequest;
using core::Shift;
using core::Shifted;
using core::ShiftRequest;
using core::TakeRequest;
using StoreStatistics = core::Statistics;

// A (limit, key).
struct MeterName {
  std::string_view limit;
  std::string_view key;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  Result<void> define(const Limit& limit);
  Result<bool> drop(std::string_view name);
  [[nodiscard]] Result<std::optional<Limit>> limit(std::string_view name);
  [[nodiscard]] Result<std::vector<std::string>> limits();
  Result<void> set_override(const MeterName& meter, std::optional<Amount> amount);
  // The key's own amount; none if it has the limit's.
  [[nodiscard]] Result<std::optional<Amount>> override_of(const MeterName& meter);

  Result<core::Verdict> take(const TakeRequest& request);
  // Takes each charge for itself, in order: answers[i] is what take() would answer to charges[i] alone. For takes that
  // have arrived together: on the way to the store they share what each would have to wait for.
  void take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers);
  // The answer that this take got before, by its id; none if it has no id, or a new one. Nothing changes.
  [[nodiscard]] Result<std::optional<core::Verdict>> recall(const TakeRequest& request);
  Result<Settlement> give(std::span<const Charge> charges, std::string_view id);
  // An id for a hold of these charges that nobody has given one: 128 random bits.
  [[nodiscard]] virtual std::string new_hold_id(std::span<const Charge> charges) const;
  Result<core::Verdict> hold(const HoldRequest& request);
  Result<Settlement> commit(const CommitRequest& request);
  Result<Settlement> cancel(std::string_view id);
  Result<Duration> extend(std::string_view id, Duration ttl);
  [[nodiscard]] Result<std::optional<HoldInfo>> find_hold(std::string_view id);
  [[nodiscard]] Result<std::vector<std::string>> holds(const MeterName& meter, std::size_t count_max);
  [[nodiscard]] Result<std::vector<std::string>> holds_tagged(std::string_view tag);

  [[nodiscard]] Result<Usage> usage(const MeterName& meter);
  Result<Reconciliation> reconcile(const MeterName& meter, Amount used);
  // Makes each shift for itself: answers[i] tells what became of shifts[i]. What is held stays held, usage may pass the
  // limit, and nothing goes below 0. Only of a stock, a window or a calendar. On the way to the store the shifts share
  // what each would have to wait for. kUnavailable: that one may have happened or not.
  void shift(const ShiftRequest& request, std::span<Result<Shifted>> answers);
  [[nodiscard]] Result<UsagePage> scan(std::string_view limit, std::uint64_t cursor, std::size_t count);
  // The open holds that were made first, in that order. It looks through everything that the store keeps.
  [[nodiscard]] Result<std::vector<HoldInfo>> oldest_holds(std::size_t count_max);

  // Forgets every meter, hold, id, tag and key, in one step. Limits and their overrides stay.
  Result<void> clear();
  [[nodiscard]] StoreStatistics statistics();
  // The time that the store goes by.
  [[nodiscard]] virtual Instant now() const = 0;
  // Null where the store has none. Owned by the store.
  [[nodiscard]] virtual Keys* keys() { return nullptr; }
  // None where the state is in this process.
  [[nodiscard]] virtual std::optional<RemoteStatus> remote() const { return std::nullopt; }
  // Whether limits of scope escrow are decided here from shares that are drawn from another store. Elsewhere such a
  // limit is one like any other, for nodes to draw from (check_scope).
  [[nodiscard]] virtual bool draws_shares() const { return false; }
  // What nodes have drawn of a limit of scope escrow and not spent, as far as this one can know. None where nothing is
  // drawn of it.
  [[nodiscard]] virtual Result<std::optional<Amount>> outstanding(std::string_view /*limit*/) { return std::nullopt; }
  // Null where the store keeps no files itself. Owned by the store.
  [[nodiscard]] virtual Persistence* persistence() { return nullptr; }

 private:
  virtual Result<void> do_define(const Limit& limit) = 0;
  virtual Result<bool> do_drop(std::string_view name) = 0;
  virtual Result<std::optional<Limit>> do_limit(std::string_view name) = 0;
  virtual Result<std::vector<std::string>> do_limits() = 0;
  virtual Result<void> do_set_override(const MeterName& meter, std::optional<Amount> amount) = 0;
  virtual Result<std::optional<Amount>> do_override_of(const MeterName& meter) = 0;
  virtual Result<core::Verdict> do_take(const TakeRequest& request) = 0;
  virtual void do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers);
  // The request has an id.
  virtual Result<std::optional<core::Verdict>> do_recall(const TakeRequest& request) = 0;
  virtual Result<Settlement> do_give(std::span<const Charge> charges, std::string_view id) = 0;
  virtual Result<core::Verdict> do_hold(const HoldRequest& request) = 0;
  virtual Result<Settlement> do_commit(const CommitRequest& request) = 0;
  virtual Result<Settlement> do_cancel(std::string_view id) = 0;
  virtual Result<Duration> do_extend(std::string_view id, Duration ttl) = 0;
  virtual Result<std::optional<HoldInfo>> do_find_hold(std::string_view id) = 0;
  virtual Result<std::vector<std::string>> do_holds(const MeterName& meter, std::size_t count_max) = 0;
  virtual Result<std::vector<std::string>> do_holds_tagged(std::string_view tag) = 0;
  virtual Result<Usage> do_usage(const MeterName& meter) = 0;
  virtual Result<Reconciliation> do_reconcile(const MeterName& meter, Amount used) = 0;
  virtual void do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) = 0;
  virtual Result<UsagePage> do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) = 0;
  virtual Result<std::vector<HoldInfo>> do_oldest_holds(std::size_t count_max) = 0;
  virtual Result<void> do_clear() = 0;
  virtual StoreStatistics do_statistics() = 0;
};

// Who may define a limit of scope escrow.
//
// Every store keeps such a limit: to the shared store of a cluster it is a limit like any other, from which the nodes
// draw. But whoever asks for shares where none can be drawn would get one limit for each node instead of one for all,
// so those who define limits for themselves (clients, mete.toml, the library) are asked here first. Nodes, which define
// limits in the store that they share, are not.
Result<void> check_scope(const Store& store, const Limit& limit);
// Store::define for those who must not do without shares where the limit wants them.
Result<void> define_in_scope(Store& store, const Limit& limit);

}  // namespace mete::store
