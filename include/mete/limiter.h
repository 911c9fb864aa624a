// Limiter: atomic admission against limits, whatever the store.
//
//     auto limiter = mete::open("embedded:").value();
//     limiter.define(mete::bucket("api").amount(100).per(1min).burst(200)).value();
//     if (limiter.allow("api", "alice")) { … }
//     auto hold = limiter.hold("credits", "alice", 10, 1h).value();   // later: limiter.commit(hold.id, 7)
//
// Ownership: a Limiter owns its store and is moved, not copied. Thread safety: every call, from any thread; only moving
// and destroying it must be kept apart from them. Each call is atomic: it happens whole or not at all, and an error has
// changed nothing; but kUnavailable may mean that the disk failed on the way, and then nobody knows whether it
// happened.
//
// Programs with an event loop of their own, which must not wait for a disk or a network, hand their calls to start().
#pragma once

#include <mete/clock.h>
#include <mete/decision.h>
#include <mete/handles.h>
#include <mete/limit.h>
#include <mete/result.h>
#include <mete/started_call.h>
#include <mete/text.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mete {

namespace core {
struct Execution;
}
namespace store {
class Host;
class OneCharge;
class Store;
}  // namespace store

struct Options {
  // The store's clock; the system's where there is none. Not owned: it must outlive the limiter.
  const Clock* clock = nullptr;
  // Above this many bytes the embedded store refuses new meters, overrides, holds and ids, and what exists goes on
  // working; 0: no ceiling. At least 4 MiB.
  std::size_t max_memory = 0;
  // How long operation ids and finished holds are remembered, and how many of them at most.
  Duration id_retention = std::chrono::hours(24);
  std::size_t ids_max = 10'000'000;
  // A durable embedded store writes a snapshot when its journal has grown by so many bytes since the last one, and
  // beyond its size; and when the last one is so old and something has been written since. 0: not for that reason.
  std::size_t snapshot_after_bytes = std::size_t{256} << 20;
  Duration snapshot_every = std::chrono::hours(1);
  // With less than this free on its disk it refuses changes, until there is twice as much; 0: it goes on until a write
  // fails. Of a small disk a sixteenth at most.
  std::size_t disk_reserve_bytes = std::size_t{64} << 20;
  // How much of a limit with on_fail = local this process may admit by itself while a store elsewhere is away: of n
  // processes, 100 / n keeps all together within the limit.
  int local_share_percent = 10;
  // A step of the system's clock by more than this is not followed; 0: each is.
  Duration clock_step_max = std::chrono::minutes(10);
};

struct TakeOptions {
  Mode mode = Mode::kTake;
  // Makes the operation idempotent: the same id with the same parameters gets the same answer, and charges once.
  Text id = {};
};

struct HoldOptions {
  Text id = {};   // as in TakeOptions; a random one where there is none
  Text tag = {};  // to find the hold by, such as a job's id
};

class Limiter {
 public:
  explicit Limiter(std::unique_ptr<store::Store> store);
  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;
  // Calls that were started are completed first: those under way with their answer, the others with kUnavailable.
  ~Limiter();

  // Defines the limit, or changes it: what is in use stays in use.
  Result<void> define(const Limit& limit);
  // Removes the limit and its meters; false if there is none of that name.
  Result<bool> drop(Text name);
  [[nodiscard]] Result<std::optional<Limit>> find_limit(Text name) const;
  // The names, sorted.
  [[nodiscard]] Result<std::vector<std::string>> limits() const;
  // Another amount for one key. A bucket's burst keeps its ratio to the amount, rounded up.
  Result<void> override_amount(Text limit, Text key, Amount amount);
  Result<void> clear_override(Text limit, Text key);

  // Takes, and tells whether that was allowed. Throws Failure where it cannot be told: with an unknown limit, a bad
  // argument, or a store that does not answer.
  [[nodiscard]] bool allow(Text limit, Text key, Amount cost = 1);

  // For whoever asks often: see handles.h. Made in a call of start(), it is for that call.
  [[nodiscard]] LimitHandle limit(Text name) const;
  [[nodiscard]] MeterHandle meter(Text limit, Text key) const;

  // What takes charges takes one of them as (limit, key, cost), or up to kChargesMax in braces, a vector or an array:
  // those all or nothing.
  Result<Decision> take(std::span<const Charge> charges, const TakeOptions& options = {});
  Result<Decision> take(std::initializer_list<Charge> charges, const TakeOptions& options = {}) {
    return take(std::span(charges.begin(), charges.size()), options);
  }
  Result<Decision> take(Text limit, Text key, Amount cost = 1, const TakeOptions& options = {}) {
    return take({{limit, key, cost}}, options);
  }
  // Takes each charge for itself, in order, up to kTakesMax of them: the answers are those that take would give to each
  // alone. What each would have to wait for, a disk or a network, they wait for together.
  Result<std::vector<Result<Decision>>> take_each(std::span<const Charge> charges);
  Result<std::vector<Result<Decision>>> take_each(std::initializer_list<Charge> charges) {
    return take_each(std::span(charges.begin(), charges.size()));
  }
  // The answer that take would give; nothing changes. Cost 0 asks how things stand.
  Result<Decision> peek(std::span<const Charge> charges) { return take(charges, {.mode = Mode::kPeek}); }
  Result<Decision> peek(std::initializer_list<Charge> charges) { return take(charges, {.mode = Mode::kPeek}); }
  Result<Decision> peek(Text limit, Text key, Amount cost = 1) { return peek({{limit, key, cost}}); }
  // Gives back what was taken: never more than is used, and nothing of what is held. The id is as in TakeOptions.
  Result<Settlement> give(std::span<const Charge> charges, Text id = {});
  Result<Settlement> give(std::initializer_list<Charge> charges, Text id = {}) {
    return give(std::span(charges.begin(), charges.size()), id);
  }
  Result<Settlement> give(Text limit, Text key, Amount cost = 1, Text id = {}) {
    return give({{limit, key, cost}}, id);
  }

  // Sets charges aside until they are committed, cancelled, or `ttl` is over.
  Result<HoldDecision> hold(std::span<const Charge> charges, Duration ttl, const HoldOptions& options = {});
  Result<HoldDecision> hold(std::initializer_list<Charge> charges, Duration ttl, const HoldOptions& options = {}) {
    return hold(std::span(charges.begin(), charges.size()), ttl, options);
  }
  Result<HoldDecision> hold(Text limit, Text key, Amount cost, Duration ttl, const HoldOptions& options = {}) {
    return hold({{limit, key, cost}}, ttl, options);
  }
  // Charges all that is held, or the given amount of each charge, and returns the rest. A commit or cancel again, with
  // the same amounts, gets the same answer for as long as ids are remembered; with other amounts: kMismatch.
  Result<Settlement> commit(Text id) { return commit(id, std::span<const Amount>()); }
  Result<Settlement> commit(Text id, std::span<const Amount> amounts);
  Result<Settlement> commit(Text id, std::initializer_list<Amount> amounts) {
    return commit(id, std::span(amounts.begin(), amounts.size()));
  }
  Result<Settlement> commit(Text id, Amount amount) { return commit(id, {amount}); }
  // As commit, but what goes beyond the hold is taken afresh, in the same step; if that does not fit: kExceeds.
  Result<Settlement> commit_with_overage(Text id, std::span<const Amount> amounts);
  Result<Settlement> commit_with_overage(Text id, std::initializer_list<Amount> amounts) {
    return commit_with_overage(id, std::span(amounts.begin(), amounts.size()));
  }
  Result<Settlement> commit_with_overage(Text id, Amount amount) { return commit_with_overage(id, {amount}); }
  Result<Settlement> cancel(Text id);
  // Lets the hold expire `ttl` from now, and returns that time.
  Result<Duration> extend(Text id, Duration ttl);
  [[nodiscard]] Result<std::optional<HoldInfo>> find_hold(Text id) const;
  // The ids of the open holds of a meter (the first to expire first), or of a tag.
  [[nodiscard]] Result<std::vector<std::string>> holds(Text limit, Text key, std::size_t count_max = 1000) const;
  [[nodiscard]] Result<std::vector<std::string>> holds_tagged(Text tag) const;

  [[nodiscard]] Result<Usage> usage(Text limit, Text key) const;
  // Sets the usage from a source of truth. What is held stays held, on top of it.
  Result<Reconciliation> reconcile(Text limit, Text key, Amount used);

  // Lists a limit's keys in use, about `count` at a time, while everything goes on.
  [[nodiscard]] Result<UsagePage> scan(Text limit, std::uint64_t cursor, std::size_t count = 100) const;
  // The keys that use most of a limit, the heaviest first.
  [[nodiscard]] Result<std::vector<KeyUsage>> top(Text limit, std::size_t count) const;

  // For a thread that must not wait: carries out `call`, and calls `completion` with its Result, exactly once.
  //
  //     limiter.start([user](mete::Limiter& limiter) { return limiter.take("api", user); },
  //                   [&loop](mete::Result<mete::Decision> decision) { loop.post(…); });
  //
  // The call is given a Limiter to ask, as often as it likes, and owns the texts that it needs. A Failure that it
  // throws, as value() does, is its Result; it and the completion let no other exception out.
  //
  // Where and when: a store in memory decides on the calling thread, and `completion` is called before start()
  // returns, without an allocation. So does one with a disk, but where the answer must be on it first, the completion
  // comes later, from a thread of the limiter's own; start() itself waits for the disk only while megabytes of the
  // journal are behind. A store elsewhere is asked on a fiber of a thread of the limiter's own, which calls the
  // completion as well. Neither call nor completion may block that thread, other than by asking the Limiter, use more
  // than some 100 KiB of its stack, or destroy the Limiter. They may start() further calls.
  //
  // At most kStartedMax calls are under way. What is started beyond them is not carried out: it is completed at once,
  // with kUnavailable.
  template <class Call, class Completion>
  void start(Call call, Completion completion) {
    StartedCallOf<Call, Completion> started(std::move(call), std::move(completion));
    start_call(started);
  }

 private:
  friend class store::Host;

  // For the calls of one start(): it is borrowed from the host, and they share the execution.
  Limiter(store::Host& host, core::Execution& execution);

  template <class Operation>
  Result<typename Operation::Answer> run(const Operation& operation) const;
  [[nodiscard]] store::OneCharge one_charge(Text limit) const;
  void start_call(StartedCall& call);

  std::unique_ptr<store::Host, void (*)(store::Host*)> host_;
  core::Execution* execution_ = nullptr;  // null: each call has one of its own
};

// Opens a store by its URL: "embedded:" keeps everything in this process's memory, "embedded:DIR" in the directory too.
// There, what a limit or an operation wants durable is on disk before a call returns. One process at a time. All other
// stores (redis:, postgres:, etcd:, mete:) are in mete::stores, a library to link beside mete::mete.
Result<Limiter> open(Text url, const Options& options = {});

}  // namespace mete
