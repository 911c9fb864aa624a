// LocalShares: decides, while a store is away, takes of limits that say on_fail = local; and brings what was taken to
// the store when it is back.
//
//     share of the limit, in this process's memory ──▶ decided ──▶ owed ──▶ what is still used of it, forced on the
//     store
//
// Every process that uses the store has a share of each such limit, `share_percent` of its amount and burst, rounded
// down: n processes together admit n shares at most, beyond what the store had admitted. A share of which nothing is
// left after rounding admits nothing. The store's overrides are not known here.
//
// A share is used up and comes back as the limit's kind says, and only so: that the store has been told gives nothing
// back, or many short outages would admit many shares.
//
// What is brought to the store is what is used here at that moment: what was taken in a window that has ended, or has
// flowed back into a bucket, is not charged to whatever window it is by then. Each amount goes there as a forced take
// with an id, which is asked again until it is answered: it is charged once. What the store refuses for good is lost,
// logged and counted; and a process that ends before the store is back has not told it.
//
// Thread safety: every call from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "store/store.h"

namespace mete::store {

class LocalShares {
 public:
  struct Counts {
    std::uint64_t admitted = 0;
    std::uint64_t denied = 0;
    std::uint64_t lost = 0;              // units that the store has refused to be told of
    std::uint64_t unsettled_meters = 0;  // with something that the store has not been told
  };

  // The store that is told, and the log, which may be left out; both borrowed.
  LocalShares(Store& store, int share_percent, base::Log* log);
  // Takes kStopMax, and one call, at most.
  ~LocalShares();
  LocalShares(const LocalShares&) = delete;
  LocalShares& operator=(const LocalShares&) = delete;

  // The limits are those of the charges, in their order.
  Result<core::Verdict> take(const Take& take, std::span<const Limit> limits);
  // Tells the store what it can be told now; an error: something is left. A thread does it once a second otherwise.
  Result<void> settle();
  [[nodiscard]] Counts counts() const;

 private:
  static constexpr Duration kStopMax = std::chrono::seconds(5);

  using Meter = std::pair<std::string, std::string>;  // a limit's name and a key

  struct Payment {
    Amount cost = 0;  // zero: none is under way
    std::string id = {};
  };
  class Round;

  // False: nothing is left of it.
  Result<bool> define_share(const Limit& limit);
  void owe(const Take& take, const core::Verdict& verdict);
  // None: nothing is owed any more.
  std::optional<Payment> next_payment(const Meter& meter);
  Result<void> settle_meter(const Meter& meter);
  void note_refusal(const Meter& meter, const Error& error, bool is_final);
  void settle_until_stopped();

  Store& store_;
  const int share_percent_;
  base::Log* const log_;
  std::once_flag begun_;
  // Both in memory, from the first take on, with the same limits.
  std::unique_ptr<Store> shares_;                      // decides
  std::unique_ptr<Store> owed_;                        // what the store is to be told; written under mutex_
  std::mutex settling_;                                // held while the store is told; taken before mutex_
  std::atomic<Instant> given_up_at_ = Instant::max();  // of telling it

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Counts counts_;                                      // under mutex_, as all below
  std::map<std::string, Limit, std::less<>> defined_;  // the whole limits of the shares, and those without
  std::map<Meter, Payment> unsettled_;
  std::set<std::pair<std::string, ErrorCode>> refusals_;  // of limits, that have been logged
  bool is_stopping_ = false;
  std::thread thread_;  // begins with the first take
};

}  // namespace mete::store
