#include "store/away/local_shares.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/errors.h"
#include "base/math.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/try.h"
#include "core/reserved.h"
#include "store/embedded/embedded_store.h"

namespace mete::store {

namespace {

constexpr std::chrono::seconds kSettleEvery{1};
constexpr std::size_t kMetersMax = 100'000;
constexpr std::size_t kSharesBytesMax = std::size_t{64} << 20;
constexpr std::size_t kTellersMax = 16;
constexpr std::size_t kMetersPerTeller = 8;
constexpr std::size_t kRefusalsMax = 1'000;

Amount share_of(Amount amount, int percent) {
  const auto parts = base::multiply(static_cast<std::uint64_t>(amount), static_cast<std::uint64_t>(percent));
  return static_cast<Amount>(base::div_floor(parts, 100));
}

// A store that is away, or has no room, may be told another time; what it says of the limit stays so.
bool is_for_good(const Error& error) {
  return error.code != ErrorCode::kUnavailable && error.code != ErrorCode::kOutOfMemory;
}

}  // namespace

LocalShares::LocalShares(Store& store, int share_percent, base::Log* log)
    : store_(store), share_percent_(share_percent), log_(log) {}

LocalShares::~LocalShares() {
  given_up_at_ = base::monotonic_now() + kStopMax;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (settle() || log_ == nullptr) return;
  log_->error("the store has not been told what limits with on_fail = local have admitted",
              {{"meters", counts().unsettled_meters}});
}

Result<bool> LocalShares::define_share(const Limit& limit) {
  const Amount amount = share_of(limit.amount(), share_percent_);
  {
    const std::lock_guard lock(mutex_);
    const auto known = defined_.find(limit.name());
    if (known != defined_.end() && known->second == limit) return amount > 0;
  }
  if (amount > 0) {
    Limit share = limit;
    share.amount(amount).scope(Scope::kNode);
    if (limit.burst()) share.burst(std::max<Amount>(share_of(*limit.burst(), share_percent_), 1));
    TRY(owed_->define(share));
    TRY(shares_->define(share));
  }
  const std::lock_guard lock(mutex_);
  defined_.insert_or_assign(limit.name(), limit);
  return amount > 0;
}

Result<core::Verdict> LocalShares::take(const Take& take, std::span<const Limit> limits) {
  std::call_once(begun_, [this] {
    shares_ = std::make_unique<EmbeddedStore>(Options{.max_memory = kSharesBytesMax});
    owed_ = std::make_unique<EmbeddedStore>(Options{});
  });
  for (const Limit& limit : limits) {
    const auto has_share = TRY(define_share(limit));
    if (!has_share) {
      return base::unavailable("the store is away, and " + std::to_string(share_percent_) + " % of limit '" +
                               limit.name() + "' is nothing");
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (unsettled_.size() >= kMetersMax) {
      return base::unavailable("the store is away, and what it is to be told of is too much already");
    }
  }
  auto decided = shares_->run(take);
  if (!decided.has_value() && decided.error().code == ErrorCode::kOutOfMemory) {
    return base::unavailable("the store is away, and there is no room for more of what this server admits by itself");
  }
  auto verdict = TRY(std::move(decided));
  const std::lock_guard lock(mutex_);
  ++(verdict.is_allowed ? counts_.admitted : counts_.denied);
  if (!verdict.is_allowed) return verdict;
  verdict.is_unrecorded = true;
  owe(take, verdict);
  if (!thread_.joinable() && !is_stopping_) thread_ = std::thread([this] { settle_until_stopped(); });
  return verdict;
}

// The same id again owes nothing more, as it has taken nothing more.
void LocalShares::owe(const Take& take, const core::Verdict& verdict) {
  std::vector<Charge> charges(take.charges.begin(), take.charges.end());
  if (take.mode == Mode::kUpTo) charges.front().cost = verdict.taken;
  const auto owed = owed_->take({.charges = charges, .mode = Mode::kForce, .id = take.id});
  if (!owed.has_value()) counts_.lost += static_cast<std::uint64_t>(verdict.taken);
  for (const Charge& charge : charges) unsettled_.try_emplace({std::string(charge.limit), std::string(charge.key)});
}

LocalShares::Counts LocalShares::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.unsettled_meters = unsettled_.size();
  return counts;
}

void LocalShares::settle_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kSettleEvery, [this] { return is_stopping_; })) {
    if (unsettled_.empty()) continue;
    lock.unlock();
    (void)settle();  // the next round goes on
    lock.lock();
  }
}

// Some meters that the store is told of, many at a time, until it fails.
class LocalShares::Round {
 public:
  Round(LocalShares& shares, std::vector<Meter> meters) : shares_(shares), meters_(std::move(meters)) {}

  Result<void> run() {
    tell(1);  // whether the store is there
    std::vector<std::thread> others;
    if (!has_failed_) {
      const std::size_t count = std::min(kTellersMax, meters_.size() / kMetersPerTeller);
      for (std::size_t i = 0; i < count; ++i) others.emplace_back([this] { tell(meters_.size()); });
      tell(meters_.size());
    }
    for (std::thread& each : others) each.join();
    return failure_ ? Result<void>(*failure_) : Result<void>();
  }

 private:
  void tell(std::size_t count) {
    for (; count > 0 && !has_failed_; --count) {
      const std::size_t index = next_.fetch_add(1);
      if (index >= meters_.size()) return;
      const bool is_late = base::monotonic_now() >= shares_.given_up_at_.load();
      const auto told =
          is_late ? Result<void>(base::unavailable("there is no time left")) : shares_.settle_meter(meters_[index]);
      if (told || has_failed_.exchange(true)) continue;
      failure_ = told.error();
    }
  }

  LocalShares& shares_;
  const std::vector<Meter> meters_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> has_failed_{false};
  std::optional<Error> failure_;  // of who has set that
};

Result<void> LocalShares::settle() {
  const std::lock_guard settling(settling_);
  std::vector<Meter> meters;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [meter, payment] : unsettled_) meters.push_back(meter);
  }
  return Round(*this, std::move(meters)).run();
}

std::optional<LocalShares::Payment> LocalShares::next_payment(const Meter& meter) {
  const std::lock_guard lock(mutex_);
  const auto found = unsettled_.find(meter);
  if (found == unsettled_.end()) return std::nullopt;
  if (found->second.cost > 0) return found->second;
  const auto usage = owed_->usage({meter.first, meter.second});
  if (!usage.has_value() || usage->used == 0) {  // what is over by now is nobody's to pay
    unsettled_.erase(found);
    return std::nullopt;
  }
  found->second = {.cost = usage->used, .id = std::string(core::kReservedMark) + "local-" + base::random_id()};
  return found->second;
}

Result<void> LocalShares::settle_meter(const Meter& meter) {
  const auto payment = next_payment(meter);
  if (!payment) return {};
  const Charge charge{meter.first, meter.second, payment->cost};
  const auto told = store_.take({.charges = {&charge, 1}, .mode = Mode::kForce, .id = payment->id});
  const bool is_refused = !told.has_value() && is_for_good(told.error());
  const std::lock_guard lock(mutex_);
  if (!told.has_value()) note_refusal(meter, told.error(), is_refused);
  if (!told.has_value() && !is_refused) return told.error();
  if (is_refused) counts_.lost += static_cast<std::uint64_t>(payment->cost);
  // What was taken meanwhile is left, and told the next time: takes owe under the same mutex.
  const auto given = owed_->give({&charge, 1}, {});
  const auto left = owed_->usage({meter.first, meter.second});
  if (given.has_value() && left.has_value() && left->used > 0) {
    unsettled_[meter] = {};
  } else {
    unsettled_.erase(meter);
  }
  return {};
}

void LocalShares::note_refusal(const Meter& meter, const Error& error, bool is_final) {
  if (log_ == nullptr || error.code == ErrorCode::kUnavailable) return;  // that is the outage's line
  if (refusals_.size() >= kRefusalsMax) refusals_.clear();
  if (!refusals_.emplace(meter.first, error.code).second) return;
  log_->error(is_final ? "the store refuses what a limit with on_fail = local has admitted: it is not charged"
                       : "the store cannot be told yet what a limit with on_fail = local has admitted",
              {{"limit", meter.first}, {"key", meter.second}, {"reason", error.message}});
}

}  // namespace mete::store
