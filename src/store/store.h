// Store: the seam between the limiter and where its state lives. A store gives the core atomicity and a clock.
//
//     run(operation) ──▶ validate(operation), once for all stores ──▶ execute() ──▶ the adapter's perform(operation)
//
// An adapter derives from StoreOf<itself> and has a perform(const core::Take&) for each operation, or a template of it
// for those that it treats alike. One that decides by a clock of this process, or keeps files, gets the execution too:
// perform(const core::Take&, Execution&). Thread safety: every call from any thread.
//
// Adding a store: a folder below src/store with an adapter, a scheme in network/elsewhere.cc, and the store's name in
// the list of tests/conformance: the suite there is the definition of done.
#pragma once

#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "core/execution.h"
#include "store/calls.h"
#include "store/clock_status.h"
#include "store/operation.h"
#include "store/persistence.h"
#include "store/remote.h"

namespace mete::store {

using core::Execution;

class EmbeddedStore;
class Keys;

class Store : public Calls<Store> {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Checks the operation, carries it out, and returns its answer; and in the execution's ticket, what its answer has to
  // wait for.
  template <class What>
  Result<typename What::Answer> run(const What& operation, Execution& execution) {
    TRY(core::validate(operation));
    return perform_checked(operation, execution);
  }
  Result<std::optional<core::Verdict>> run(const core::Recall& recall, Execution& execution);
  // The answers are told in their places; what is not valid is refused by itself.
  Result<void> run(const core::TakeEach& takes, Execution& execution);
  Result<void> run(const core::ShiftUsage& shifts, Execution& execution);
  Result<void> run(const core::KeysEach& keys, Execution& execution);
  // On its own: when it returns, what must be on disk is there.
  template <class What>
  Result<typename What::Answer> run(const What& operation) {
    Execution execution;
    return run(operation, execution);
  }

  // Those on keys by name; keys.h. Without keys each is refused.
  [[nodiscard]] Keys keys();

  // An id for a hold of these charges that nobody has given one: 128 random bits.
  [[nodiscard]] virtual std::string new_hold_id(std::span<const Charge> charges) const;
  // The time that the store goes by.
  [[nodiscard]] virtual Instant now() const = 0;
  // Of the clock that it goes by.
  [[nodiscard]] virtual ClockStatus clock_status() const { return {}; }
  // None where the state is in this process.
  [[nodiscard]] virtual std::optional<RemoteStatus> remote() const { return std::nullopt; }
  // A limit as decisions here go by it, known without asking anybody. None where somebody would have to be asked, or
  // where there is no such limit.
  [[nodiscard]] virtual std::optional<Limit> known_limit(std::string_view /*name*/) const { return std::nullopt; }
  // Whether limits of scope escrow are decided here from shares that are drawn from another store. Elsewhere such a
  // limit is one like any other, for nodes to draw from (check_scope).
  [[nodiscard]] virtual bool draws_shares() const { return false; }
  // What nodes have drawn of a limit of scope escrow and not spent, as far as this one can know. None where nothing is
  // drawn of it.
  [[nodiscard]] virtual Result<std::optional<Amount>> outstanding(std::string_view /*limit*/) { return std::nullopt; }
  // This store, where its state is in this process: for handles (mete/handles.h), which ask its engine directly.
  [[nodiscard]] virtual EmbeddedStore* embedded() { return nullptr; }
  // Operations on these keys, or of these charges, come next, one by one: hints, for a store that has them in this
  // process's memory.
  virtual void expect_keys(std::span<const std::string_view> /*keys*/) {}
  virtual void expect_charges(std::span<const Charge> /*charges*/) {}
  // Null where the store keeps no files itself. Owned by the store.
  [[nodiscard]] virtual Persistence* persistence() { return nullptr; }

 protected:
  // For a store that holds another: passes on an operation, which has been checked.
  static void pass_on(Store& store, const Operation& operation, Execution& execution) {
    store.execute(operation, execution);
  }

 private:
  virtual void execute(const Operation& operation, Execution& execution) = 0;

  template <class What>
  Result<typename What::Answer> perform_checked(const What& operation, Execution& execution) {
    Result<typename What::Answer> answer;
    execute(Operation(operation, answer), execution);
    return answer;
  }
};

// Makes a store of an adapter's perform() functions.
template <class Adapter>
class StoreOf : public Store {
  template <class What>
  static constexpr bool kPerforms = requires(Adapter& adapter, const What& what) {
    adapter.perform(what);
  };
  template <class What>
  static constexpr bool kExecutes = requires(Adapter& adapter, const What& what, Execution& execution) {
    adapter.perform(what, execution);
  };

  void execute(const Operation& operation, Execution& execution) final {
    operation.answer_by([&](const auto& what) { return carry_out(what, execution); });
  }
  template <class What>
  Result<typename What::Answer> carry_out(const What& what, Execution& execution) {
    if constexpr (kExecutes<What>) {
      return static_cast<Adapter&>(*this).perform(what, execution);
    } else if constexpr (kPerforms<What>) {
      return static_cast<Adapter&>(*this).perform(what);
    } else if constexpr (std::is_same_v<What, core::KeysEach>) {
      what.answer_by([&](const auto& step) { return carry_out(step, execution); });
      return {};
    } else {
      static_assert(core::kIsOnKeys<What>, "every store has all operations but those on keys");
      return Error{ErrorCode::kInvalid, "this store keeps limits only: keys need the embedded store, or Redis"};
    }
  }
};

// Who may define a limit of scope escrow.
//
// Every store keeps such a limit: to the shared store of a cluster it is a limit like any other, from which the nodes
// draw. But whoever asks for shares where none can be drawn would get one limit for each node instead of one for all,
// so those who define limits for themselves (clients, mete.toml, the library) are asked here first. Nodes, which define
// limits in the store that they share, are not.
Result<void> check_scope(const Store& store, const Limit& limit);

}  // namespace mete::store
