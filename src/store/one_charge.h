// OneCharge: takes of one charge without options, nearly all that a program asks for. On an embedded store they go to
// its engine by their hash, in a few instructions; everything else, and everywhere else, they are a Take like any
// other.
//
// Ownership: refers to all of it. Thread safety: that of the store.
#pragma once

#include <optional>

#include "base/try.h"
#include "store/caller.h"
#include "store/embedded/embedded_store.h"

namespace mete::store {

// The store whose engine may be asked for a limit of that name past run_for_client(); null: none.
inline EmbeddedStore* embedded_for_clients(Store& store, std::string_view limit) {
  return core::is_reserved_limit(limit) ? nullptr : store.embedded();
}

class OneCharge {
 public:
  // Without an execution each call has one of its own.
  OneCharge(Store& store, EmbeddedStore* embedded, Execution* execution)
      : store_(store), embedded_(embedded), execution_(execution) {}

  // hash() is called only where it is of use.
  template <class Hash>
  bool allow(const Charge& charge, Hash hash) const {
    if (is_direct(charge)) {
      if (const std::optional<bool> is_allowed = embedded_->allow_one(charge, hash(embedded_->engine()), execution_)) {
        return *is_allowed;
      }
    }
    return allow_by_name(charge);
  }

  template <class Hash>
  Result<core::Verdict> take(const Charge& charge, Hash hash) const {
    if (!is_direct(charge)) return take_by_name(charge);
    return embedded_->take_one(charge, hash(embedded_->engine()), execution_);
  }

 private:
  [[nodiscard]] bool is_direct(const Charge& charge) const {
    return embedded_ != nullptr && core::is_plainly_valid(charge) && !core::is_reserved_key(charge.key);
  }
  // Out of line, so that the usual way has a small frame.
  [[gnu::noinline]] Result<core::Verdict> take_by_name(const Charge& charge) const {
    Execution alone;
    return run_for_client(store_, core::Take{.charges = {&charge, 1}}, execution_ != nullptr ? *execution_ : alone);
  }
  [[gnu::noinline]] bool allow_by_name(const Charge& charge) const { return take_by_name(charge)->is_allowed; }

  Store& store_;
  EmbeddedStore* embedded_;
  Execution* execution_;
};

}  // namespace mete::store
