// Transactor: operations on keys of etcd, each atomic over all that it touches.
//
//     read ──→ decide, in a scratch engine ──→ nothing changed: told
//                 ↑                        └─→ put, if no key that was read has changed since ──→ told
//                 └────────── one has: etcd answers with how they are now ───────┘
//
// Calls on the same meter do not race each other within this process: those that come while one is under way wait for
// it, and then are decided one after the other on the same scratch engine, and written at once
// (store/network/combiner.h).
//
// The reading is spared where the memory knows the keys, or may guess that there are none (memory.h); if that was wrong
// etcd answers with how they are. What is told without a change is read first, always.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/image.h"
#include "store/etcd/memory.h"
#include "store/network/combiner.h"
#include "store/store_clock.h"

namespace mete::store::etcd {

// One operation.
struct Call {
  std::vector<EntryName> entries = {};  // all that it may touch
  std::uint64_t lane = 0;               // its first meter, for the combiner
  // Decides, and keeps the answer; whether anything is to be written. It may be called again, on newer keys: then only
  // the last answer counts.
  std::function<bool(engine::Engine&, Instant now)> decide = {};
  // Doing it twice is doing it once: then it is tried again where nobody knows whether it has happened.
  bool is_repeatable = false;
  bool makes_holds = false;
  std::optional<Error> failure = {};  // there is no answer
};

class Transactor {
 public:
  struct Settings {
    std::string prefix;
    Duration timeout;
    Duration id_retention;
  };
  static constexpr std::size_t kEntriesMax = kTxnOperationsMax - 1;  // of one call: the clock is read with them

  // What they refer to outlives it.
  Transactor(Client& client, StoreClock& clock, Settings settings)
      : client_(client), clock_(clock), settings_(std::move(settings)) {}

  // Answers from what is read; nothing is written, whatever decide() says.
  Result<void> read(Call& call);
  // Together with others.
  Result<void> change(Call& call);

  // Writes what time has made of these keys, and deletes what it has made needless; nothing if one of those was changed
  // meanwhile. Returns how many.
  Result<std::size_t> sweep(const std::vector<EntryName>& entries);
  // Keys are forgotten only when all can know that it is this late.
  Result<void> raise_clock();

  // For listings: a transaction as it is; keys; and an engine of them.
  Result<TxnAnswer> run(const Txn& txn);
  Result<Image> fetch(const std::vector<EntryName>& entries);
  Result<std::unique_ptr<Scratch>> scratch_of(const Image& image, bool makes_holds = false);
  // It is no earlier than this key was written; unless that is further ahead than a clock may step.
  Result<void> go_on_from(const LatestWritten& latest);
  // Also of times in etcd that are too far ahead to be believed.
  [[nodiscard]] ClockStatus clock_status() const;
  // Holds whose expiry this process has written down since its start.
  [[nodiscard]] std::uint64_t expired_holds() const { return expired_holds_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& prefix() const { return settings_.prefix; }
  [[nodiscard]] Duration id_retention() const { return settings_.id_retention; }

 private:
  // Takes on one limit that fit into a transaction: each has an override and a meter.
  static constexpr std::size_t kTogetherMax = (kEntriesMax - 1) / 2;
  static constexpr std::size_t kTransactionsNear = 8;
  static constexpr std::size_t kTransactionsFar = 64;
  static constexpr int kAttemptsMax = 64;

  struct Trip;

  [[nodiscard]] net::Deadline deadline() const { return net::Deadline::in(settings_.timeout); }
  [[nodiscard]] std::string key_of(const EntryName& entry) const { return etcd::key_of(settings_.prefix, entry); }
  Outcome<Image> read_image(const std::vector<EntryName>& entries, const net::Deadline& deadline);
  bool run_together(std::span<Call* const> calls);
  void run_group(std::vector<Call*> calls);
  // True: it is over, for better or for worse.
  bool attempt(Trip& trip);
  bool write(Trip& trip, const Difference& difference);
  bool give_up(Trip& trip, const Failure& failure);

  Client& client_;
  StoreClock& clock_;
  const Settings settings_;
  Combiner<Call> together_{{.near = kTransactionsNear, .far = kTransactionsFar, .together_max = kTogetherMax}};
  Memory memory_;
  std::atomic<std::uint64_t> next_serial_{1};
  std::atomic<std::uint64_t> expired_holds_{0};
  std::atomic<std::uint64_t> refused_times_{0};
  std::atomic<std::uint64_t> refused_at_{0};  // the last time that was refused
  std::atomic<std::int64_t> refused_by_ns_{0};
};

}  // namespace mete::store::etcd
