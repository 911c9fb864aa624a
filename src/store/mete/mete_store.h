// MeteStore: state that other Mete servers keep, each the keys that Rendezvous gives it.
//
// Definitions are at all of them. A meter, its override and its holds are at the server of its key, and what is
// remembered of an id is at the server of the first key that it was used with. Takes and gives whose keys are at
// several servers are done in parts, all or none of them (coordinator.h). A hold is at one server: whoever commits it
// names an amount for each of its charges in their order, which no server would know of the whole. While a server is
// away its keys are unavailable, and all others go on.
//
// The server decides everything, by its own clock; nothing is kept here.
#pragma once

#include <mete/limiter.h>

#include <memory>
#include <utility>

#include "store/mete/server_group.h"
#include "store/store.h"

namespace mete::store::servers {

class MeteStore final : public StoreOf<MeteStore> {
 public:
  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);
  ~MeteStore() override;

  [[nodiscard]] Instant now() const override { return group_->now(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return group_->status(); }
  [[nodiscard]] std::string new_hold_id(std::span<const Charge> charges) const override;

 private:
  friend class StoreOf<MeteStore>;

  explicit MeteStore(std::unique_ptr<ServerGroup> group);

  // What one server does, as it is.
  template <class What>
  Result<typename What::Answer> perform(const What& operation);

  // Whose charges may be at several servers.
  Result<core::Verdict> perform(const core::Take& take);
  Result<std::optional<core::Verdict>> perform(const core::Recall& recall);
  Result<Settlement> perform(const core::Give& give);
  template <class What>
  Result<typename What::Answer> run_at_homes(std::span<const Charge> charges, const What& operation);

  // What all of them do, or any (mete_everywhere.cc).
  Result<void> perform(const core::Define& define);
  Result<bool> perform(const core::Drop& drop);
  Result<std::optional<Limit>> perform(const core::FindLimit& find);
  Result<std::vector<std::string>> perform(const core::ListLimits& list);
  Result<std::vector<std::string>> perform(const core::ListTagged& list);
  Result<std::vector<HoldInfo>> perform(const core::OldestHolds& oldest);
  Result<UsagePage> perform(const core::ScanUsage& scan);
  Result<core::KeyPage> perform(const core::ScanKeys& scan);
  Result<std::size_t> perform(const core::CountKeys& count);
  Result<void> perform(const core::Clear& clear);
  Result<StoreStatistics> perform(const core::ReadStatistics& read);

  // What goes to several servers in parts (mete_takes.cc).
  Result<void> perform(const core::TakeEach& takes);
  Result<void> perform(const core::ShiftUsage& shifts);
  Result<void> perform(const core::KeysEach& keys);
  // Takes of keys of one server, by their numbers among the charges.
  void take_there(Server& server, const core::TakeEach& takes, std::span<const std::size_t> numbers);
  void shift_there(Server& server, const core::ShiftUsage& shifts, std::span<const std::size_t> numbers);
  void step_there(Server& server, const core::KeysEach& keys, std::span<const std::size_t> numbers);

  // Asks one server after the other, the id's own first, until one knows the hold.
  template <class What>
  Result<typename What::Answer> ask_in_turn(const What& operation);

  std::unique_ptr<ServerGroup> group_;
};

}  // namespace mete::store::servers
