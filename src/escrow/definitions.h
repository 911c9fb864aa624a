// Definitions: which limits there are and where each is decided: here (scope node), in the shared store (shared), or
// here from a share of what is there (escrow).
//
// Limits of the last two kinds are defined in the shared store; every node looks there again and again. A definition
// that is made through any node raises a number there, by which the others notice it within half a second; one that is
// made in the shared store itself is noticed when all of them are read anew, every few seconds.
//
// A limit stays in the store that it is in. One of scope node that is in the shared store, as plain servers define them
// there, or because it had another scope before, is decided there each time.
//
// Generations: a limit that was dropped and defined again is another limit, however much they are alike. So each limit
// that shares are drawn of has a random number, as the override of a key that nobody has (core::kGenerationKey): it
// goes with the limit, in every store. Whoever defines a limit through a node gives it one. Of a limit without one
// nothing is drawn: it is decided in the shared store until a node has given it a number, a few seconds later.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "escrow/nodes/registration.h"
#include "escrow/shares.h"
#include "escrow/terms.h"
#include "net/fiber_mutex.h"
#include "store/store.h"

namespace mete::escrow {

struct Definition {
  Limit limit;
  bool is_shared = false;              // it is in the shared store
  std::shared_ptr<const Terms> terms;  // null: nothing is drawn of it

  [[nodiscard]] bool is_here() const { return !is_shared; }
  [[nodiscard]] bool is_drawn() const { return terms != nullptr; }
  // Nodes have shares of it, or will have: the shared store decides of it while it is what it was.
  [[nodiscard]] bool is_shared_out() const { return is_shared && limit.scope() == Scope::kEscrow; }
};

class Definitions {
 public:
  struct Parts {
    store::Store& local;
    store::Store& shared;
    Shares& shares;
    const Clock& clock;
    Registration* registration =
        nullptr;  // asked whether `shared` is still that of this node's cluster, if there is one
    // Calls act(0) to act(count - 1), many at a time, and returns when all have ended. Empty: one after the other.
    std::function<void(std::size_t count, const std::function<void(std::size_t)>& act)> for_each = {};
  };
  explicit Definitions(Parts parts) : parts_(std::move(parts)) {}

  // Reads all of them: before the first use.
  Result<void> load();
  // Looks whether something has changed. Often; an error means that the shared store does not answer.
  Result<void> refresh();
  // What looks ends soon, with an error: this node stops.
  void stop() { is_stopping_ = true; }

  Result<void> define(const Limit& limit);
  Result<bool> drop(std::string_view name);
  // kNoLimit: neither here nor there.
  [[nodiscard]] Result<std::shared_ptr<const Definition>> find(std::string_view name);
  // By what is known here; null if there is none. Asks nobody.
  [[nodiscard]] std::shared_ptr<const Definition> known(std::string_view name) const;
  // Whether any quota key is known here.
  [[nodiscard]] bool has_quotas() const { return has_quotas_.load(std::memory_order_relaxed); }
  // How many of these, from the first on, are decided in this node's own store.
  [[nodiscard]] std::size_t count_here(std::span<const Charge> charges) const;
  // With those of quota keys.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  using Table = std::map<std::string, std::shared_ptr<const Definition>, std::less<>>;

  Result<void> read_all();
  Result<void> read_local(Table& table);
  Result<std::vector<std::shared_ptr<const Definition>>> read_shared();
  Result<std::shared_ptr<const Definition>> read_again(std::string_view name);
  void adopt_all(Table table);
  Result<std::uint64_t> version();
  Result<void> announce();
  // Of a limit in the shared store.
  Result<std::shared_ptr<const Definition>> make(const Limit& limit, Amount generation);
  Result<std::shared_ptr<const Definition>> read(std::string_view name);
  std::uint64_t count_drops();
  // Makes what was read known; null if this node has dropped a limit since `drops` were counted: maybe this one.
  std::shared_ptr<const Definition> adopt_read(const std::shared_ptr<const Definition>& definition,
                                               std::uint64_t drops);
  // 0: it has none. With `makes` it gets one then.
  Result<Amount> generation_of(std::string_view name, bool makes);
  // What this node has changed itself is known from then on.
  void adopt_change(const std::shared_ptr<const Definition>& definition);
  void let_go_change(std::string_view name);
  // With adopting_ held.
  void adopt(const std::shared_ptr<const Definition>& definition);
  void let_go(std::string_view name);
  void look_for_quotas();  // with mutex_ held

  const Parts parts_;
  std::atomic<bool> is_stopping_{false};
  net::FiberMutex reading_;    // whoever reads all of them; taken before adopting_
  std::uint64_t version_ = 0;  // this and the next two under reading_
  Instant read_at_;
  std::set<std::string, std::less<>> without_generation_;  // as of the last time that all were read
  net::NamedLocks changing_;  // whoever changes a definition, here or there, has its name; taken before adopting_
  std::mutex adopting_;       // what is known changes: held for a moment only; taken before mutex_
  std::uint64_t drops_ = 0;   // by this node; under adopting_, as the next one
  std::set<std::string, std::less<>> changed_;  // since all are being read
  mutable std::shared_mutex mutex_;
  Table table_;
  std::atomic<bool> has_quotas_{false};  // in table_
};

}  // namespace mete::escrow
