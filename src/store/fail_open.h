// FailOpen: a store that holds another one, and decides takes while that cannot be reached, if each of their limits
// says on_fail = open or local. What is admitted so is counted, and marked in its answer (is_unrecorded). A peek, a
// hold and everything else fails as the store fails.
//
//     take ──▶ the store ──▶ kUnavailable? ──┬─ each limit is known to be open ──▶ admitted, as if the meters were
//     fresh
//                                            └─ or some are local ──▶ these decide, by this process's share of them
//
// What a limit says must be known before the store is away. Whoever defines or looks for a limit through here tells it;
// and behind a take of a limit of which too little is known, or nothing for a while, the store is asked for the limit.
// So a limit that was redefined elsewhere is as it was for some seconds of use, and one that this process has not used
// is closed, unless the store still tells of it.
//
// Of open limits nothing is remembered, and of local ones what was used (away/local_shares.h): what a take with an id
// is answered when it is asked again, the store decides once it is back. Until then a take of open limits has no
// earlier answer (Recall). Thread safety: every call from any thread.
#pragma once

#include <mete/limit.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/away/local_shares.h"
#include "store/store.h"

namespace mete::store {

class FailOpen final : public Store {
 public:
  static constexpr Duration kFreshFor = std::chrono::seconds(5);
  // Tells a limit, without asking the store; none if there is no such, as far as is known.
  using Find = std::function<std::optional<Limit>(std::string_view name)>;

  static constexpr int kSharePercent = 10;

  struct Settings {
    int local_share_percent = kSharePercent;
    Find find = nullptr;       // of whoever knows the limits: then the store is never asked for them
    base::Log* log = nullptr;  // borrowed
  };

  explicit FailOpen(std::unique_ptr<Store> store) : FailOpen(std::move(store), Settings()) {}
  FailOpen(std::unique_ptr<Store> store, Settings settings);

  [[nodiscard]] std::string new_hold_id(std::span<const Charge> charges) const override {
    return store_->new_hold_id(charges);
  }
  [[nodiscard]] Instant now() const override { return store_->now(); }
  [[nodiscard]] ClockStatus clock_status() const override { return store_->clock_status(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return store_->remote(); }
  // As the store knows it, or as it was found here for its takes, some seconds ago at most.
  [[nodiscard]] std::optional<Limit> known_limit(std::string_view name) const override;
  [[nodiscard]] bool draws_shares() const override { return store_->draws_shares(); }
  [[nodiscard]] Result<std::optional<Amount>> outstanding(std::string_view limit) override {
    return store_->outstanding(limit);
  }
  [[nodiscard]] Persistence* persistence() override { return store_->persistence(); }

  // The one that is held, which fails closed.
  [[nodiscard]] Store& closed() { return *store_; }
  // What a take is answered while the store is away: `error`, unless each of its limits is known to be open or local.
  Result<core::Verdict> admit(const Take& take, const Error& error);
  // So many were admitted, by local limits too.
  [[nodiscard]] std::size_t admissions() const { return admissions_.load(std::memory_order_relaxed); }
  // Tells the store what was admitted by local limits; it happens once a second otherwise. An error: something is left.
  Result<void> settle() { return local_.settle(); }
  // With what else is known here.
  void add_to(StoreStatistics& statistics) const;

 private:
  // Behind takes that arrived together: whoever waits for their answers waits for these looks as well.
  static constexpr std::size_t kLooksMax = 4;

  struct Known {
    std::optional<Limit> limit;  // none: not known yet
    Instant due_at;              // to be looked for again
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void execute(const Operation& operation, Execution& execution) override;

  // What comes behind an operation.
  template <class What>
  void follow(const What& /*what*/, Result<typename What::Answer>& /*answer*/) {}
  void follow(const Take& take, Result<core::Verdict>& answer);
  void follow(const core::TakeEach& takes, Result<void>& done);
  void follow(const core::Recall& recall, Result<std::optional<core::Verdict>>& earlier);
  void follow(const core::Define& define, Result<void>& done);
  void follow(const core::Drop& drop, Result<bool>& was_there);
  void follow(const core::FindLimit& find, Result<std::optional<Limit>>& found);
  void follow(const core::ReadStatistics& read, Result<StoreStatistics>& statistics);

  // Those charges of a take whose limits are local.
  struct LocalPart {
    std::vector<Limit> limits;
    std::vector<Charge> charges;
    std::vector<std::size_t> places;  // among all charges
  };
  Result<core::Verdict> decide_locally(const Take& take, const LocalPart& part);
  // Looks for those of the charges' limits that are due: so many.
  std::size_t look_for_due(std::span<const Charge> charges, Instant now);
  void look_for_unknown(std::span<const Charge> charges);
  // Whether the limit is to be looked for now. One caller is told so, and then nobody for a while.
  bool is_due(std::string_view name, Instant now);
  [[nodiscard]] std::optional<Limit> found_limit(std::string_view name) const;
  // None: it is closed, or not known.
  [[nodiscard]] std::optional<Limit> failing_softly(std::string_view name) const;
  void learn(const Limit& limit);
  void forget(std::string_view name);

  const std::unique_ptr<Store> store_;
  const Find find_;
  LocalShares local_;
  std::atomic<std::size_t> admissions_{0};
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, Known, Hash, std::equal_to<>> limits_;  // that were used; under mutex_
};

}  // namespace mete::store
