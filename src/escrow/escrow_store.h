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
#include <string>
#include <thread>

#include "escrow/carrier.h"
#include "escrow/counters/counters.h"
#include "escrow/definitions.h"
#include "escrow/escrow_keys.h"
#include "escrow/lot_book.h"
#include "escrow/neighbours.h"
#include "escrow/nodes/registration.h"
#include "escrow/peers/links.h"
#include "escrow/shares.h"
#include "escrow/status.h"
#include "escrow/stranded.h"
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
  // The link to other nodes, over which counters go, and where some of those may be; the rest are found by the
  // registration.
  std::optional<PeerOptions> link = {};
  std::vector<std::string> peers = {};
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
  [[nodiscard]] store::Persistence* persistence() override { return local_->persistence(); }

  [[nodiscard]] ClusterStatus status();

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
  };
  struct Split {
    Part here;
    Part drawn;
    Part there;
  };
  // Charges that are looked at together.
  struct Piece {
    store::Store* store = nullptr;  // null: a share, of one charge
    std::span<const Charge> charges;
    std::span<const std::size_t> places;
    bool is_shadow = false;
  };

  explicit EscrowStore(EscrowParts parts);

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

  // The shared store must remember ids for as long as an order may be asked again.
  Result<void> check_retention();
  Result<void> recover_lots();
  void watch_until_stopped();
  void watch();
  void keep_registration();

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
  Result<core::Verdict> take_patiently(const Definition& definition, const Charge& charge, Mode mode,
                                       Shares::Taking& taking, store::Execution& execution);
  Result<core::Verdict> ask(const Definition& definition, const Charge& charge, const Order& order, Mode mode);
  // A take of several charges, of which some were taken from shares.
  struct Several;
  Result<void> take_shares(Several& several, store::Execution& execution);
  Result<void> take_rest(Several& several, store::Execution& execution);
  Result<void> look_at_rest(Several& several, store::Execution& execution);
  void undo_shares(Several& several, store::Execution& execution);
  void tell_asked(const Several& several, const core::Verdict& verdict, std::span<const Usage> usages);
  Result<core::Verdict> peek_share(const Charge& charge);
  static Part joined(const Part& part);
  Result<void> note_spent(const Shares::Taking& taking, const Charge& charge, store::Execution& execution);
  Result<core::Verdict> fail(const Definition& definition, const Charge& charge, const Error& error);
  // Charges of scope node beside others: act(coordinator) does the operation.
  template <class Act>
  auto in_parts(const Split& split, store::Execution& execution, Act act);
  // Decided there, or from several shares.
  Result<core::Verdict> take_there(const store::Take& request, const Part& drawn);
  Result<core::Verdict> take_several(const Split& split, store::Execution& execution);
  Result<core::Verdict> peek_all(const Split& split, bool is_denied, store::Execution& execution);
  Result<core::Verdict> peek_piece(const Piece& piece, std::span<const Charge> charges, store::Execution& execution);
  // What this node has of these meters goes back; returns when the shared store has it.
  void give_back(std::span<const Charge> charges);
  // The store that has the limit.
  Result<store::Store*> home_of(std::string_view limit);

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
  EscrowKeys keys_;
  const std::string share_tag_;
  std::unique_ptr<Carrier> carrier_;  // after what it works with
  const std::unique_ptr<Clock> counter_clock_;
  Neighbours neighbours_;
  std::unique_ptr<PeerLinks> links_;  // null: no peers

  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool is_stopping_ = false;
  Instant kept_at_;            // the registration; of who watches
  bool is_forgetful_ = false;  // the shared store, as of the last look; of who watches
  std::thread watcher_;        // last: it uses all of the above
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
