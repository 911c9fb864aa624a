// Shares: the shares of this node, by limit and key.
//
// take() decides, or says what must happen first: carry out the order and tell finish() what came of it, or wait for
// who does. tend() gives the orders that nobody waits for; call it often, and whenever take() says that a draw is
// wanted.
//
// Thread safety: every call from any thread. A share is locked with the others of its shard, for the call alone.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lock.h"
#include "base/random.h"
#include "core/verdict.h"
#include "escrow/share.h"
#include "escrow/statistics.h"
#include "escrow/terms.h"
#include "net/signal.h"
#include "store/store.h"

namespace mete::escrow {

inline store::MeterName meter_of(const Charge& charge) { return {charge.limit, charge.key}; }

struct SharesConfig {
  std::uint64_t seed = 0;  // of the hashes
  DrawNames::MakeId make_id = base::random_id;
};

// What the shared store answered: to a draw a verdict, to a settling what is left of the whole.
struct OrderAnswer {
  std::optional<core::Verdict> verdict = {};
  std::optional<MeterStanding> standing = {};
  Amount held = 0;  // of the meter, for whomever; to a draw
};

class Shares {
 public:
  explicit Shares(const SharesConfig& config);
  ~Shares();

  struct Taking {
    Share::Outcome outcome = Share::Outcome::kDecided;
    core::Verdict verdict;          // if it is decided
    std::optional<Order> order;     // to be carried out: now if this take needs it, else so that the next need not wait
    Error failure;                  // if it has failed
    Spent spent;                    // of which lots: for close() and unspend()
    std::vector<Booking> bookings;  // to be written, and then told to booked(), before the take is answered
    std::uint64_t change = 0;       // what to wait for with wait_for_change()
    // Others hold some of the meter, and there is more wanted than is left for all: it is denied, or gets less than it
    // has asked for, or will.
    bool needs_others = false;
  };
  // kTake or kUpTo. `has_waited`: this is not the first call for this take. `goes_on`: it has further charges, and ends
  // with close() or unspend().
  struct Attempt {
    Mode mode = Mode::kTake;
    bool has_waited = false;
    bool goes_on = false;
  };
  Taking take(const store::MeterName& meter, const std::shared_ptr<const Terms>& terms, Amount cost,
              const Attempt& attempt, Instant now);
  // Takes from what the share has; false where that is not enough, or there is none, and nothing has happened.
  bool take_at_once(const store::MeterName& meter, Amount cost, Instant now, Taking& taking);
  // The limit was redefined.
  void revise(std::string_view limit, const std::shared_ptr<const Terms>& terms, Instant now);
  void booked(const store::MeterName& meter, const Booking& booking);
  // A take that went on has ended, and what it has spent was used.
  void close(const store::MeterName& meter, const Spent& spent, Instant now);
  // Or it was not. Less may go back: a lot that is not here any more gets nothing.
  struct Undone {
    Amount units = 0;
    std::vector<Booking> bookings = {};
  };
  Undone unspend(const store::MeterName& meter, const Spent& spent, Instant now);
  // Others have given something of it back: what was denied is asked for anew.
  void reconsider(const store::MeterName& meter);
  // What the shared store said of the whole besides.
  void know(const store::MeterName& meter, const MeterStanding& standing, Instant now);
  // An error that is not kUnavailable is a refusal: the order is not asked again.
  void finish(const Order& order, const Result<OrderAnswer>& answer, Instant now);
  // Returns when an order of this meter has ended since `change`, or at the deadline (false).
  bool wait_for_change(const store::MeterName& meter, std::uint64_t change, std::chrono::nanoseconds wait);

  // Orders that are due: of all shares, or, where they are many, of so many of them; the next call goes on from there.
  [[nodiscard]] std::vector<Order> tend(Instant now);
  // Orders to give back all that a meter has here, or that all have.
  [[nodiscard]] std::vector<Order> settle(const store::MeterName& meter, Instant now);
  [[nodiscard]] std::vector<Order> settle_all(Instant now);
  // Of all shares: see share.h.
  void distrust(Instant since);
  // The limit is gone, and so is all that was drawn of it.
  void forget(std::string_view limit);

  // What this node has of a meter, and knows of the whole; none if it has never drawn of it.
  struct Look {
    Amount usable = 0;
    Amount held = 0;  // in the shared store, for its lots
    Amount held_and_spent = 0;
    bool is_stock = false;
    Amount known_remaining = 0;
    Amount outstanding = 0;
    Amount capacity = 0;
    bool has_order_under_way = false;  // then the shared store may know more than this
    std::uint64_t change = 0;          // what to wait for with wait_for_change()
  };
  [[nodiscard]] std::optional<Look> look(const store::MeterName& meter, Instant now);
  // How it stands, as far as is known here: the answer to a take of nothing.
  [[nodiscard]] core::Verdict standing(const store::MeterName& meter, Instant now);
  // Of all meters of a limit.
  struct LimitTotals {
    Amount outstanding = 0;  // charged in the shared store and not spent
    Amount held_and_spent = 0;
  };
  [[nodiscard]] LimitTotals totals(std::string_view limit);
  [[nodiscard]] SharesStatistics statistics(Instant now);

 private:
  static constexpr std::size_t kShards = 64;

  // A name with its hash, which finds the shard and then the share.
  struct Probe {
    store::MeterName meter;
    std::size_t hash = 0;
  };
  struct Table;  // of the shares, by their names
  struct alignas(64) Shard {
    base::Lock lock;
    net::Signal changed;
    std::uint64_t changes = 0;  // orders that have ended
    std::uint64_t decisions = 0;
    std::uint64_t local_decisions = 0;
    ShareStatistics forgotten;
    std::unique_ptr<Table> table;
  };

  [[nodiscard]] Probe probe_of(const store::MeterName& meter) const;
  // The table of a shard goes by the other bits.
  Shard& shard_of(const Probe& probe) { return shards_[(probe.hash >> 8) % kShards]; }
  // Null: there is none.
  static Share* find(const Shard& shard, const Probe& probe);
  Share& find_or_make(Shard& shard, const Probe& probe, const std::shared_ptr<const Terms>& terms);
  // `use` tells whether the share stays.
  template <class Use>
  static void each_share(Shard& shard, Use use);
  template <class Use>
  void each_share(Use use);

  DrawNames names_;
  const std::uint64_t seed_;  // of the hashes
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> next_tended_{0};  // a shard
};

}  // namespace mete::escrow
