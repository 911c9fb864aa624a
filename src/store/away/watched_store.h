// WatchedStore: a store that holds one elsewhere, and knows how that is: whether it is away, and whether it still has
// what it had.
//
// An outage is a state. It begins when a call has failed and a look at the store fails too, or a server of it is known
// to be away, and ends with the first look that does not. Each is one line of the log; the second says how long it was
// and how many calls were refused. Looks are made once a second, and at once when a call has failed or has not found
// its limit, by one thread: so an outage is noticed and its end is found though nobody asks.
//
// A loss of the store's state is noticed by a look, too (loss_finder.h): it costs no call of anybody but the watching
// thread, and what is decided between the loss and the next look finds fresh meters.
//
// After a loss `on_loss` is called until it succeeds: to define again what is known here. Takes and holds find fresh
// meters from then on, and so do quotas and throttles. What they get is a setting: kFresh, whatever those give; or
// kClosed, kUnavailable until fresh meters admit no more than the lost ones could have: for the length of a window,
// until a bucket is full; of a stock, for good. That is kept in the store, so that servers that start are closed as
// those that run, until the last of the limits that any of them knew, and of the quotas and throttles that came by, is
// refilled; or until one of them is set to kFresh, which opens all. Counters are no limits: they begin anew.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/log.h"
#include "store/away/loss_finder.h"
#include "store/store.h"

namespace mete::store {

enum class WhenWiped : std::uint8_t { kClosed, kFresh };

struct WatchSettings {
  std::string name = {};  // of the store, in the log; without a password
  WhenWiped when_wiped = WhenWiped::kClosed;
  bool has_identity = true;  // false: somebody else looks after that
  base::Log* log = nullptr;
  const Clock* clock = nullptr;  // how long things take; null: the machine's
  bool has_thread = true;        // false: for tests, which look()
};

class WatchedStore final : public Store {
 public:
  static constexpr Duration kLookEvery = std::chrono::seconds(1);

  // An error: the store was not reached.
  static Result<std::unique_ptr<WatchedStore>> open(std::unique_ptr<Store> store, WatchSettings settings);
  ~WatchedStore() override;

  [[nodiscard]] std::string new_hold_id(std::span<const Charge> charges) const override {
    return store_->new_hold_id(charges);
  }
  [[nodiscard]] Instant now() const override { return store_->now(); }
  [[nodiscard]] ClockStatus clock_status() const override { return store_->clock_status(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override;
  [[nodiscard]] std::optional<Limit> known_limit(std::string_view name) const override {
    return store_->known_limit(name);
  }
  [[nodiscard]] bool draws_shares() const override { return store_->draws_shares(); }
  [[nodiscard]] Result<std::optional<Amount>> outstanding(std::string_view limit) override {
    return store_->outstanding(limit);
  }

  // An error: it has not succeeded, and is tried again. Called on the watching thread; none: nothing is known here.
  void on_loss(std::function<Result<void>()> define_again);
  void set_when_wiped(WhenWiped when_wiped);
  // Looks at the store now.
  void look();

 private:
  // Of limits while takes are refused: a look at each may be so old.
  static constexpr Duration kKnownFor = std::chrono::seconds(5);
  static constexpr Duration kPauseMin = std::chrono::milliseconds(200);
  static constexpr std::size_t kKnownMax = 100'000;

  struct Outage {
    Instant since;
    std::uint64_t unreached_before = 0;
  };
  struct Known {
    Duration refills_within;  // never() of a stock
    Instant found_at;
    bool is_gone = false;  // not found any more: it was dropped elsewhere, or lost
  };
  // Since when takes are refused, and until when at the longest, by the store's clock.
  struct Closure {
    static constexpr Amount kOver = 1;  // in place of lost_at: nothing is refused any more

    Amount lost_at = 0;      // seconds since 1970
    Amount refilled_at = 0;  // as well; kAmountMax: never

    [[nodiscard]] bool is_over() const { return lost_at == kOver; }
    bool operator==(const Closure&) const = default;
  };

  WatchedStore(std::unique_ptr<Store> store, WatchSettings settings);

  void execute(const Operation& operation, Execution& execution) override;
  void note(const Operation& operation);
  void note_error(const Error& error);
  // Whether it is answered here, because of a loss.
  bool refuses(const Operation& operation, Execution& execution);
  void take_those_left(const core::TakeEach& takes, Execution& execution);
  void take_steps_left(const core::KeysEach& keys, Execution& execution);
  std::optional<Error> refusal_of(std::span<const Charge> charges);
  std::optional<Error> refusal_of(const core::KeyStep& step);
  std::optional<Error> refusal_within(const Result<Duration>& needed, std::string_view name);
  Result<Duration> refill_time(std::string_view limit);
  Result<Duration> refill_time(const core::KeyStep& step);
  void learn(const Limit& limit);
  void learn(const core::KeyStep& step);
  void note_gone(std::string_view limit, bool is_dropped);
  void look_soon();
  static void hide_limit(const Operation& operation);

  void watch();
  void note_reach(const std::optional<Error>& failure);
  Result<void> begin();
  Result<void> look_for_loss(std::optional<Amount> identity, Instant since);
  void note_loss(const std::string& reason);
  Result<void> learn_all();
  [[nodiscard]] Amount refilled_at(Amount lost_at) const;
  void forget_gone(Instant since);
  void mend();
  Result<void> keep_closure();
  Result<void> keep_closed(std::optional<Closure> kept);
  Result<std::optional<Closure>> read_closure();
  Result<void> write_closure(const Closure& closure);
  [[nodiscard]] Closure closure() const;
  void set_closure(const Closure& closure);
  void join(const Closure& kept);
  void reopen();
  void warn_if_blind(const Result<void>& looked);
  [[nodiscard]] Instant clock_now() const;
  [[nodiscard]] Amount seconds_there() const { return static_cast<Amount>(store_->now().unix_seconds()); }

  const std::unique_ptr<Store> store_;
  const WatchSettings settings_;
  std::atomic<std::uint64_t> unreached_{0};  // calls that were refused because it was away
  std::atomic<std::uint64_t> closed_to_{0};  // and because of a loss
  std::atomic<bool> has_failed_{false};      // since the last look
  std::atomic<bool> is_due_{false};          // a look, for another reason
  std::atomic<bool> is_out_{false};          // there is an outage
  std::atomic<bool> has_answered_{false};    // since the last look, which has found one
  std::atomic<bool> is_closed_{false};
  std::atomic<std::int64_t> keys_refill_within_ns_{0};  // of quotas and throttles that came by

  mutable std::mutex mutex_;  // held for a moment only
  std::condition_variable wake_;
  WhenWiped when_wiped_;  // under mutex_, as all below
  std::optional<Outage> outage_;
  std::optional<Instant> failed_at_;    // the first call that failed since the last good look
  std::uint64_t unreached_before_ = 0;  // at the last good look
  std::uint64_t outages_ = 0;
  std::uint64_t losses_ = 0;
  std::string loss_;  // the last one
  Closure closure_;   // of the last loss
  std::map<std::string, Known, std::less<>> known_;
  Duration others_refill_within_;  // of those limits for which there was no room
  bool has_gone_ = false;          // some of the known
  bool may_be_kept_ = true;        // the store may have a closure that is not known here
  std::function<Result<void>()> define_again_;
  bool is_stopping_ = false;

  // Of whoever looks, one at a time.
  std::mutex looking_;
  LossFinder finder_;
  bool is_kept_ = false;  // what is closed here is so in the store
  bool needs_mending_ = false;
  std::optional<Instant> mended_at_;  // the last try
  std::string mend_failure_;
  std::string blindness_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::store
