// FileLimits: the store of a server whose limits may stand in a file. It knows which ones do, and which have left.
//
// A limit that leaves the file is retired: nothing can be taken from it, as if there were none, but its definition, its
// usage and its holds stay in the store, and holds can be ended. So a file that is empty for a moment, or that lacks a
// limit, costs nobody what was counted. The limit is back with all of that when the file has it again, or when somebody
// defines it (LIMIT SET). LIMIT DEL of a retired limit drops it for good; of one that stands in the file it is refused,
// because the next start would define it again.
//
// Which limits are retired is in the store too, for the next start: as overrides of a reserved limit, which FLUSHALL
// keeps. Where servers share a store, the limit goes on for those whose file still has it; and when one of them takes a
// mark away, since its file has the limit again or somebody has defined it there, the others notice within kLookEvery
// of the next request for it.
//
// The marks of other servers, whose store this one is (mete://), come in as operations on the same reserved limit. They
// are kept under another name, since the next start here would take them for its own.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>

#include "server/configuration/config.h"
#include "store/store.h"

namespace mete::server {

class FileLimits final : public store::Store {
 public:
  // For how long a mark that was found is believed to be there.
  static constexpr Duration kLookEvery = std::chrono::seconds(1);

  // `own`: the store that remembers the retired limits; on a node its own one, as the shared one takes no such names
  // from here. Borrowed, and part of `store`, or the same. `clock`: how long things take; null: the machine's.
  static Result<std::unique_ptr<FileLimits>> open(std::unique_ptr<store::Store> store, store::Store& own,
                                                  const Clock* clock = nullptr);

  [[nodiscard]] std::string new_hold_id(std::span<const Charge> charges) const override {
    return store_->new_hold_id(charges);
  }
  [[nodiscard]] Instant now() const override { return store_->now(); }
  [[nodiscard]] store::ClockStatus clock_status() const override { return store_->clock_status(); }
  [[nodiscard]] std::optional<store::RemoteStatus> remote() const override { return store_->remote(); }
  [[nodiscard]] std::optional<Limit> known_limit(std::string_view name) const override {
    return store_->known_limit(name);
  }
  [[nodiscard]] bool draws_shares() const override { return store_->draws_shares(); }
  [[nodiscard]] Result<std::optional<Amount>> outstanding(std::string_view limit) override {
    return store_->outstanding(limit);
  }
  void expect_keys(std::span<const std::string_view> keys) override { store_->expect_keys(keys); }
  void expect_charges(std::span<const Charge> charges) override { store_->expect_charges(charges); }
  [[nodiscard]] store::Persistence* persistence() override { return store_->persistence(); }

  // The store that is held: there a retired limit is one like any other.
  [[nodiscard]] store::Store& inside() { return *store_; }
  [[nodiscard]] bool is_retired(std::string_view name);
  Result<void> retire(const std::string& name);
  Result<void> revive(std::string_view name);
  // The store has lost its state, or has another one now.
  Result<void> look_again();
  // What stands in the file from now on.
  void set_file(std::span<const FileLimit> limits);

 private:
  FileLimits(std::unique_ptr<store::Store> store, store::Store& own, const Clock* clock)
      : store_(std::move(store)), own_(own), clock_(clock) {}

  void execute(const store::Operation& operation, store::Execution& execution) override;
  template <class What>
  Result<typename What::Answer> perform(const What& what, store::Execution& execution);
  template <class What>
  [[nodiscard]] std::optional<Error> refusal(const What& what);
  [[nodiscard]] std::optional<Error> refusal_of_drop(std::string_view name) const;
  template <class What>
  Result<typename What::Answer> pass(const What& what, store::Execution& execution);
  Result<bool> has_marks();
  void forget(std::string_view name);
  [[nodiscard]] Instant clock_now() const;

  const std::unique_ptr<store::Store> store_;
  store::Store& own_;
  const Clock* const clock_;
  std::atomic<bool> has_retired_{false};
  std::atomic<bool> has_marks_{false};  // the reserved limit is defined
  mutable std::shared_mutex mutex_;
  std::map<std::string, Instant, std::less<>> retired_;   // and when the mark was looked for; under mutex_
  std::map<std::string, std::string, std::less<>> file_;  // places by names; under mutex_
};

}  // namespace mete::server
