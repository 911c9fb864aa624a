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

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "escrow/carrier.h"
#include "escrow/counters/counters.h"
#include "escrow/counters/exchange.h"
#include "escrow/definitions.h"
#include "escrow/escrow_keys.h"
#include "escrow/lot_book.h"
#include "escrow/nodes/clock_watch.h"
#include "escrow/nodes/registration.h"
#include "escrow/nodes/retirement.h"
#include "escrow/others/neighbours.h"
#include "escrow/others/others.h"
#include "escrow/others/peers.h"
#include "escrow/others/releases.h"
#include "escrow/shares.h"
#include "escrow/status.h"
#include "escrow/stranded.h"
#include "net/deadline.h"
#include "store/coordinator.h"
#include "store/fail_open.h"
#include "store/store.h"

namespace mete::escrow {

struct EscrowParts {
  std::unique_ptr<store::Store> local;  // keeps what must outlive a crash
  std::unique_ptr<store::Store> shared;
  std::string node;
  std::uint64_t incarnation = 0;  // greater than all that the node had before
  // Among the other nodes, in `shared`; null: nobody looks after it.
  std::unique_ptr<Registration> registration = {};
  // How other nodes, which the registration finds, are reached: at their RESP listeners.
  PeerCredentials credentials = {};
  // Asks them what they have of limits. Null: where there are threads and a registration, over the network.
  std::unique_ptr<Others> others = {};
  // Where counters are kept. Empty: in memory alone.
  std::string directory = {};
  journal::FileSystem* files = nullptr;
  int local_share_percent = store::FailOpen::kSharePercent;
  const Clock* clock = nullptr;  // how long things take; null: the machine's. Not owned
  base::Log* log = nullptr;      // not owned; may be left out
  bool has_threads = true;       // false: nothing happens by itself, but in tend(); for tests that set the clock
};

class EscrowStore final : public store::StoreOf<EscrowStore> {
 public:
  static Result<std::unique_ptr<EscrowStore>> open(EscrowParts parts);
  ~EscrowStore() override;

  [[nodiscard]] Instant now() const override { return local_->now(); }
  [[nodiscard]] bool draws_shares() const override { return true; }
  [[nodiscard]] Result<std::optional<Amount>> outstanding(std::string_view limit) override;
  [[nodiscard]] std::optional<store::RemoteStatus> remote() const override { return shared_->remote(); }
  [[nodiscard]] store::ClockStatus clock_status() const override { return local_->clock_status(); }
  [[nodiscard]] store::Persistence* persistence() override { return local_->persistence(); }

  void expect_keys(std::span<const std::string_view> keys) override { counters_.expect(keys); }

  [[nodiscard]] ClusterStatus status();
  // Counters that another node has brought. Tells which of its lives this node is in.
  Result<Writer> merge_counters(const CounterMessage& message);

  // What this node has of some meters, for another node of that cluster, which goes by shares as this one does.
  Result<std::vector<NodeShare>> answer(ClusterNumber cluster, const ShareQuestion& question);

  // By which other nodes are reached from now on.
  void set_credentials(PeerCredentials credentials);

  // Settles some of what a node had that never comes back: again while there is some left (retirement.h). Refused while
  // that node is alive.
  Result<Retired> retire(std::string_view node);

  // What its threads do again and again, once: shares are drawn ahead and given back, definitions looked for.
  void tend();

 private:
  friend class store::StoreOf<EscrowStore>;

  // The charges of an operation by where they are decided, with their places in it.
  struct Part {
    std::vector<Charge> charges;
    std::vector<std::size_t> places;
    std::vector<std::shared_ptr<const Definition>> definitions;

    [[nodiscard]] bool empty() const { return charges.empty(); }
    // None of its limits denies anything.
    [[nodiscard]] bool is_shadow() const;
    // Of some of them nodes have shares, even if nothing is drawn yet.
    [[nodiscard]] bool is_shared_out() const;
  };
  struct Split {
    Part here;
    Part drawn;
    Part there;

    [[nodiscard]] bool is_shared_out() const { return !drawn.empty() || there.is_shared_out(); }
  };
  // Charges that are looked at together.
  struct Piece {
    store::Store* store = nullptr;  // null: a share, of one charge
    std::span<const Charge> charges;
    std::span<const std::size_t> places;
    bool is_shadow = false;
  };

  EscrowStore(EscrowParts parts, const Writer& self);

  // Where the limit is, or the hold. What changes a meter finds all of it there: the share goes back first.
  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& execution);
  template <class What>
  requires core::kIsOnKeys<What> Result<typename What::Answer> perform(const What& operation,
                                                                       store::Execution& execution) {
    return keys_.perform(operation, execution);
  }

  Result<void> perform(const core::Define& define, store::Execution& execution);
  Result<bool> perform(const core::Drop& drop, store::Execution& execution);
  Result<std::optional<Limit>> perform(const core::FindLimit& find, store::Execution& execution);
  Result<std::vector<std::string>> perform(const core::ListLimits& list, store::Execution& execution);
  Result<core::Verdict> perform(const core::Take& take, store::Execution& execution);
  Result<void> perform(const core::TakeEach& takes, store::Execution& execution);
  Result<std::optional<core::Verdict>> perform(const core::Recall& recall, store::Execution& execution);
  Result<Settlement> perform(const core::Give& give, store::Execution& execution);
  Result<core::Verdict> perform(const core::Hold& hold, store::Execution& execution);
  Result<std::vector<std::string>> perform(const core::ListTagged& list, store::Execution& execution);
  Result<Usage> perform(const core::ReadUsage& read, store::Execution& execution);
  Result<void> perform(const core::ShiftUsage& shifts, store::Execution& execution);
  Result<UsagePage> perform(const core::ScanUsage& scan, store::Execution& execution);
  Result<std::vector<HoldInfo>> perform(const core::OldestHolds& oldest, store::Execution& execution);
  Result<void> perform(const core::Clear& clear, store::Execution& execution);
  Result<store::StoreStatistics> perform(const core::ReadStatistics& read, store::Execution& execution);

  Result<void> recover_lots();
  void tell_of_keys();
  void tell_refused(std::string_view node);

  // What is looked after all the time (escrow_watch.cc).
  //
  // The shared store must remember ids for as long as an order may be asked again.
  Result<void> check_retention();
  void repeat_until_stopped(void (EscrowStore::*act)());
  [[nodiscard]] bool is_stopping();
  // By one thread each: to read definitions may take long, and a node must be heard of all the time.
  void watch();
  void look();
  void look_at_shared();
  // Whether the shared store is what it was, and this node one of its cluster's.
  Result<void> confirm_shared();
  void give_up(const Error& reason);
  void look_at_clock(Instant asked_at);
  void look_at_nodes();
  void look_who_is_away(const std::vector<NodeInfo>& nodes);
  // Draws are made while there is no reason not to.
  void set_halted(std::optional<Error> reason);

  Result<Split> split(std::span<const Charge> charges);
  // The answer that an operation with an id got before its limits were dropped; `error` if it got none.
  template <class What>
  Result<typename What::Answer> where_remembered(const Error& error, const What& operation,
                                                 store::Execution& execution);
  // Decided from shares. False: the share has not enough, or there is none, and nothing has happened.
  bool take_at_once(const Charge& charge, Instant now, Result<core::Verdict>& answer, store::Execution& execution);
  Result<core::Verdict> take_from_share(const Definition& definition, const Charge& charge, Mode mode,
                                        store::Execution& execution);
  // Waits for draws until the share has decided, or the shared store has to: then `asked` is the order for it.
  Result<core::Verdict> take_patiently(const Definition& definition, const Charge& charge, Shares::Attempt how,
                                       Shares::Taking& taking, store::Execution& execution);
  Result<core::Verdict> ask(const Definition& definition, const Charge& charge, const Order& order, Mode mode);
  // What draws on limits that shares are drawn of, in the shared store: of a store that is what it was, before and
  // after.
  template <class Act>
  auto surely(Act act) -> decltype(act());
  // A take of several charges, of which some were taken from shares.
  struct Several;
  Result<void> take_shares(Several& several, store::Execution& execution);
  Result<void> take_rest(Several& several, store::Execution& execution);
  Result<void> look_at_rest(Several& several, store::Execution& execution);
  void close_shares(const Several& several);
  void undo_shares(Several& several, store::Execution& execution);
  void tell_asked(const Several& several, const core::Verdict& verdict, std::span<const Usage> usages);
  // False: it has not ended in a moment.
  bool wait_for_order(const store::MeterName& meter, const Shares::Look& look);
  Result<core::Verdict> peek_share(const Charge& charge);
  static Part joined(const Part& part);
  Result<void> note_spent(const Shares::Taking& taking, const Charge& charge, store::Execution& execution);
  Result<core::Verdict> fail(const Definition& definition, const Charge& charge, const Error& error);
  // Charges of scope node beside others: act(coordinator) does the operation.
  template <class Act>
  auto in_parts(const Split& split, store::Execution& execution, Act act);
  // Decided there: a take or a hold. What is denied comes back first, as far as this node has it, or others do.
  template <class What>
  Result<core::Verdict> decide_there(const What& request, const Split& split);
  template <class What>
  Result<core::Verdict> decide_with_shares(const What& request);
  Result<core::Verdict> force_there(const core::Take& request, const Split& split);
  // What the shared store cannot decide now, as the limits say.
  template <class What>
  Result<core::Verdict> decided_or_admitted(const What& request, Result<core::Verdict> verdict);
  // Whether anything of what is denied has come back: from here, and from other nodes if that is not enough.
  bool bring_back(std::span<const Charge> charges, const core::Verdict& denied, std::span<const Usage> usages);
  // Whether others hold some of the meter, which may come back. `usage`: as the shared store has it.
  bool can_come_back(const Charge& charge, const Usage& usage);
  // A denial by the shared store is for no longer than until something may come back.
  core::Verdict as_denied_here(core::Verdict denied, std::span<const Charge> charges, std::span<const Usage> usages);
  Result<core::Verdict> take_several(const Split& split, store::Execution& execution);
  Result<core::Verdict> peek_all(const Split& split, bool is_denied, store::Execution& execution);
  Result<core::Verdict> peek_piece(const Piece& piece, std::span<const Charge> charges, store::Execution& execution);
  // What this node has of these meters goes back; returns when the shared store has it.
  void give_back(std::span<const Charge> charges);
  // The same for another node. Tells how much that was.
  Amount release(const store::MeterName& meter);
  // What the other nodes have of these keys together, as far as they answer.
  std::vector<NodeShare> shares_of_others(std::string_view limit, std::vector<std::string> keys);
  // The store that has the limit.
  Result<store::Store*> home_of(std::string_view limit);

  net::Cutoff cutoff_;                          // of its threads, and of the one that ends it
  std::optional<net::Cutoff::Scope> stopping_;  // of that one, until all of the below has ended
  const std::unique_ptr<store::Store> local_;
  // Its takes may fail open. Shares are drawn from shared_->closed(): nobody has recorded what failed open.
  const std::unique_ptr<store::FailOpen> shared_;
  const Clock& clock_;
  base::Log* const log_;
  const std::unique_ptr<Registration> registration_;  // before what uses it, after the store that it is in
  Shares shares_;
  LotBook lots_;
  Definitions definitions_;
  Stranded stranded_;
  Counters counters_;
  std::atomic<std::uint64_t> refusal_told_ns_{0};  // when the log was told that counters are not taken in
  EscrowKeys keys_;
  const std::string share_tag_;
  std::unique_ptr<Carrier> carrier_;  // after what it works with
  Retirement retirement_;
  const std::unique_ptr<Clock> counter_clock_;
  Neighbours neighbours_;
  const std::unique_ptr<Others> others_;  // null: none can be asked
  Releases releases_;
  std::unique_ptr<CounterExchange> exchange_;  // null: there are no threads

  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool is_stopping_ = false;
  // Of who looks at the shared store:
  Instant looked_at_;
  std::optional<Error> forgetful_;  // the shared store is, as of the last look
  ClockWatch clock_watch_;
  std::optional<Error> clock_set_;
  Instant clock_set_at_;
  std::vector<std::string> alive_;  // nodes, by name, when it was looked last who is away
  Instant away_looked_at_;
  std::set<std::string, std::less<>> clocks_warned_of_;  // of nodes, by name

  mutable std::mutex away_mutex_;
  std::vector<std::string> away_;  // under away_mutex_

  std::mutex halting_;  // who says whether draws are made
  std::once_flag given_up_;
  // Last: they use all of the above.
  std::thread watcher_;  // definitions
  std::thread keeper_;   // the shared store, and this node in it
};

template <class What>
Result<typename What::Answer> EscrowStore::where_remembered(const Error& error, const What& operation,
                                                            store::Execution& execution) {
  if (error.code != ErrorCode::kNoLimit || operation.id.empty()) return error;
  auto here = local_->run(operation, execution);
  if (here.has_value() || here.error().code != ErrorCode::kNoLimit) return here;
  auto there = shared_->run(operation);
  return there.has_value() || there.error().code != ErrorCode::kNoLimit ? std::move(there) : error;
}

template <class Act>
auto EscrowStore::surely(Act act) -> decltype(act()) {
  TRY(carrier_->make_sure());
  auto answer = act();
  TRY(carrier_->make_sure());
  return answer;
}

// The others decide, and each node remembers what is its own: so an id is good at every node for what they share.
template <class Act>
auto EscrowStore::in_parts(const Split& split, store::Execution& execution, Act act) {
  store::HomeOf here([&](const auto& operation) { return local_->run(operation, execution); });
  store::HomeOf elsewhere([&](const auto& operation) { return run(operation, execution); });
  std::array<store::HomePart, 2> parts = {{{.home = &elsewhere}, {.home = &here}}};
  parts[0].is_shadow = split.drawn.is_shadow() && split.there.is_shadow();
  parts[1].is_shadow = split.here.is_shadow();
  for (const Part* part : {&split.here, &split.drawn, &split.there}) {
    for (std::size_t i = 0; i < part->charges.size(); ++i) {
      parts[part == &split.here ? 1 : 0].add(part->charges[i], part->places[i]);
    }
  }
  store::Coordinator coordinator(parts);
  return act(coordinator);
}

}  // namespace mete::escrow
