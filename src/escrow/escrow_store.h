// EscrowStore: one limit over many nodes. A store of this node's own and one that all nodes share, and shares of the
// limits of scope escrow, which are spent here without asking anybody.
//
//     scope node     decided in this node's own store
//     scope shared   decided in the shared store, each time
//     scope escrow   decided here from a share (shares.h), which is drawn from the shared store; with an id, by force,
//     or
//                    to be held: decided there, and what the node has goes back first where it is missing
//
// The proof that all nodes together stay within a limit is short: what they can spend is what the shared store
// admitted.
#pragma once

#include <mete/clock.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "escrow/carrier.h"
#include "escrow/counters/counters.h"
#include "escrow/definitions.h"
#include "escrow/escrow_keys.h"
#include "escrow/neighbours.h"
#include "escrow/nodes/registration.h"
#include "escrow/peers/links.h"
#include "escrow/shares.h"
#include "escrow/status.h"
#include "escrow/stock_book.h"
#include "escrow/stranded.h"
#include "store/store.h"

namespace mete::escrow {

struct EscrowParts {
  std::unique_ptr<store::Store> local;  // keeps what must outlive a crash
  std::unique_ptr<store::Store> shared;
  std::string node;
  std::uint64_t incarnation = 0;  // greater than all that the node had before
  // Among the other nodes, in `shared`; null: nobody looks after it.
  std::unique_ptr<Registration> registration = {};
  // The link to other nodes, over which counters go, and where some of those may be; the rest are found by the
  // registration.
  std::optional<PeerOptions> link = {};
  std::vector<std::string> peers = {};
  const Clock* clock = nullptr;  // how long things take; null: the machine's. Not owned
  base::Log* log = nullptr;      // not owned; may be left out
};

class EscrowStore final : public store::Store {
 public:
  static Result<std::unique_ptr<EscrowStore>> open(EscrowParts parts);
  ~EscrowStore() override;

  [[nodiscard]] Instant now() const override { return local_->now(); }
  [[nodiscard]] store::Keys* keys() override { return &keys_; }
  [[nodiscard]] bool draws_shares() const override { return true; }
  [[nodiscard]] Result<std::optional<Amount>> outstanding(std::string_view limit) override;
  [[nodiscard]] std::optional<store::RemoteStatus> remote() const override { return shared_->remote(); }
  [[nodiscard]] store::Persistence* persistence() override { return local_->persistence(); }

  [[nodiscard]] ClusterStatus status();

 private:
  // The charges of an operation by where they are decided, with their places in it.
  struct Part {
    std::vector<Charge> charges;
    std::vector<std::size_t> places;
    std::vector<std::shared_ptr<const Definition>> definitions;

    [[nodiscard]] bool empty() const { return charges.empty(); }
  };
  struct Split {
    Part here;
    Part drawn;
    Part there;
  };

  explicit EscrowStore(EscrowParts parts);

  Result<void> do_define(const Limit& limit) override;
  Result<bool> do_drop(std::string_view name) override;
  Result<std::optional<Limit>> do_limit(std::string_view name) override;
  Result<std::vector<std::string>> do_limits() override;
  Result<void> do_set_override(const store::MeterName& meter, std::optional<Amount> amount) override;
  Result<std::optional<Amount>> do_override_of(const store::MeterName& meter) override;
  Result<core::Verdict> do_take(const store::TakeRequest& request) override;
  void do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) override;
  Result<std::optional<core::Verdict>> do_recall(const store::TakeRequest& request) override;
  Result<Settlement> do_give(std::span<const Charge> charges, std::string_view id) override;
  Result<core::Verdict> do_hold(const store::HoldRequest& request) override;
  Result<Settlement> do_commit(const store::CommitRequest& request) override;
  Result<Settlement> do_cancel(std::string_view id) override;
  Result<Duration> do_extend(std::string_view id, Duration ttl) override;
  Result<std::optional<HoldInfo>> do_find_hold(std::string_view id) override;
  Result<std::vector<std::string>> do_holds(const store::MeterName& meter, std::size_t count_max) override;
  Result<std::vector<std::string>> do_holds_tagged(std::string_view tag) override;
  Result<Usage> do_usage(const store::MeterName& meter) override;
  Result<Reconciliation> do_reconcile(const store::MeterName& meter, Amount used) override;
  void do_shift(const store::ShiftRequest& request, std::span<Result<store::Shifted>> answers) override;
  Result<UsagePage> do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) override;
  Result<std::vector<HoldInfo>> do_oldest_holds(std::size_t count_max) override;
  Result<void> do_clear() override;
  store::StoreStatistics do_statistics() override;

  Result<void> recover_stocks();
  Result<void> forget_stocks();
  void watch_until_stopped();
  void keep_registration();

  Result<Split> split(std::span<const Charge> charges);
  // Decided from shares. False: the share has not enough, or there is none, and nothing has happened.
  bool take_at_once(const Charge& charge, Instant now, Result<core::Verdict>& answer);
  Result<core::Verdict> take_from_share(const Definition& definition, const Charge& charge, Mode mode);
  Result<core::Verdict> ask(const Definition& definition, const Charge& charge, const Order& order, Mode mode);
  Result<core::Verdict> take_shares(const Part& drawn);
  Result<core::Verdict> peek_share(const Charge& charge);
  void undo_share(const Charge& charge);
  Result<void> note_spent(const Shares::Taking& taking, const Charge& charge);
  Result<core::Verdict> fail(const Definition& definition, const Charge& charge, const Error& error);
  // Decided elsewhere, or in parts.
  Result<core::Verdict> take_there(const store::TakeRequest& request, const Part& drawn);
  Result<core::Verdict> take_elsewhere(const store::TakeRequest& request, const Split& split);
  Result<core::Verdict> take_apart(const store::TakeRequest& request, const Split& split);
  Result<core::Verdict> peek_all(const Split& split);
  // What this node has of these meters goes back; returns when the shared store has it.
  void give_back(std::span<const Charge> charges);
  // The store that has the limit; what this node has of the meter is given back to it.
  Result<store::Store*> home_of(std::string_view limit);
  Result<store::Store*> settled_home_of(const store::MeterName& meter);
  template <class Do>
  auto where_held(Do act) -> decltype(act(std::declval<store::Store&>()));

  const std::unique_ptr<store::Store> local_;
  const std::unique_ptr<store::Store> shared_;
  const Clock& clock_;
  base::Log* const log_;
  const std::unique_ptr<Registration> registration_;  // before what uses it, after the store that it is in
  Shares shares_;
  StockBook book_;
  Definitions definitions_;
  Stranded stranded_;
  Counters counters_;
  EscrowKeys keys_;
  std::atomic<std::size_t> open_admissions_{0};
  const std::string share_tag_;
  std::unique_ptr<Carrier> carrier_;  // after what it works with
  const std::unique_ptr<Clock> counter_clock_;
  Neighbours neighbours_;
  std::unique_ptr<PeerLinks> links_;  // null: no peers

  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool is_stopping_ = false;
  std::thread watcher_;  // last: it uses all of the above
};

}  // namespace mete::escrow
