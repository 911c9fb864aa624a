// Transactor: operations on keys of etcd, each atomic over all that it touches.
//
//     read ──→ decide, in a scratch engine ──→ nothing changed: told
//                 ↑                        └─→ put, if no key that was read has changed since ──→ told
//                 └────────── one has: etcd answers with how they are now ───────┘
//
// Calls on the same meter do not race each other within this process: those that come while one is under way wait for
// it (store/network/combiner.h), and then are decided one after the other on the same scratch engine, and written at
// once. So that calls on different meters go beside each other there are several such lanes, by the hash of the first
// meter. A lane remembers how it left its keys: as long as nobody else writes them, the reading is spared. What is told
// without a change is read first, always.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/image.h"
#include "store/network/combiner.h"
#include "store/store_clock.h"

namespace mete::store::etcd {

// One operation.
struct Call {
  std::vector<EntryName> entries = {};  // all that it may touch
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
  // In the lane of its first meter, or of its first entry, with others.
  Result<void> change(Call& call);
  [[nodiscard]] static std::size_t lane_of(std::span<const EntryName> entries);
  static constexpr std::size_t kLanes = 8;

  // Writes what time has made of these keys, and deletes what it has made needless; nothing if one of those was changed
  // meanwhile. Returns how many.
  Result<std::size_t> sweep(const std::vector<EntryName>& entries);
  // Keys are forgotten only when all can know that it is this late.
  Result<void> raise_clock();

  // For listings: a transaction as it is; keys; and an engine of them.
  Result<TxnAnswer> run(const Txn& txn);
  Result<Image> fetch(const std::vector<EntryName>& entries);
  Result<std::unique_ptr<Scratch>> scratch_of(const Image& image, bool makes_holds = false);
  [[nodiscard]] const std::string& prefix() const { return settings_.prefix; }

 private:
  static constexpr std::size_t kTogetherMax = 256;
  static constexpr std::size_t kKnownMax = 1024;
  static constexpr int kAttemptsMax = 64;
  static constexpr int kReadsAfterRace = 16;

  struct Lane {
    Combiner<Call> together{1, kTogetherMax};
    Image known = {};       // as the last call left it; only for the one that is under way, as is the next
    int reads_to_come = 0;  // after somebody else has written its keys, so many times they are read first
  };
  struct Trip;

  [[nodiscard]] net::Deadline deadline() const { return net::Deadline::in(settings_.timeout); }
  [[nodiscard]] std::string key_of(const EntryName& entry) const { return etcd::key_of(settings_.prefix, entry); }
  Outcome<Image> read_image(const std::vector<EntryName>& entries, const net::Deadline& deadline);
  bool run_lane(Lane& lane, std::span<Call* const> calls);
  void run_group(Lane& lane, std::vector<Call*> calls);
  static void begin_with_known(Trip& trip);
  // True: it is over, for better or for worse.
  bool attempt(Trip& trip);
  bool write(Trip& trip, const Difference& difference);
  static bool give_up(Trip& trip, const Failure& failure);
  static void remember(Trip& trip, const Difference& difference, Revision revision);

  Client& client_;
  StoreClock& clock_;
  const Settings settings_;
  std::array<Lane, kLanes> lanes_;
  std::atomic<std::uint64_t> next_serial_{1};
};

}  // namespace mete::store::etcd
