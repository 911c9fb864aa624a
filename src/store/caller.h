// Caller: a store as a client's door uses it: its calls share the execution of one batch of requests, and what nodes
// keep for themselves (core/reserved.h) is neither seen nor touched. To a client such a limit or hold does not exist.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/refusals.h"
#include "core/reserved.h"
#include "store/store.h"

namespace mete::store {

namespace reserved {

Error not_for_clients(std::string_view field, std::string_view text);
// Of the first that is reserved.
std::optional<Error> refusal(std::span<const Charge> charges);
std::optional<Error> refusal(const core::MeterName& meter);

// Why a client may not carry that out; none: it may.
template <class What>
std::optional<Error> refusal(const What& operation) {
  if constexpr (requires { operation.take; }) {
    return refusal(operation.take);
  } else {
    if constexpr (requires { operation.charges; }) {
      if (auto error = refusal(std::span<const Charge>(operation.charges))) return error;
    }
    if constexpr (requires { operation.meter; }) {
      if (auto error = refusal(operation.meter)) return error;
    }
    if constexpr (std::is_same_v<What, core::ScanUsage>) {
      if (core::is_reserved_limit(operation.limit)) return core::unknown_limit(operation.limit);
    }
    if constexpr (std::is_same_v<What, core::ShiftUsage>) {
      for (const core::Shift& shift : operation.shifts) {
        if (auto error = refusal(core::MeterName{operation.limit, shift.key})) return error;
      }
    }
    if constexpr (std::is_same_v<What, core::Define>) {
      const std::string& name = operation.limit.name();
      if (name.starts_with(core::kReservedLimits)) return not_for_clients("limit name", core::kReservedLimits);
    }
    if constexpr (requires { operation.id; }) {
      if (core::is_reserved_id(operation.id)) {
        if (What::kTraits.home == core::Home::kHold) return core::no_hold(operation.id);
        return not_for_clients("id", core::kReservedMark);
      }
    }
    if constexpr (std::is_same_v<What, core::Hold>) {
      if (core::is_reserved_tag(operation.tag)) return not_for_clients("tag", core::kReservedMark);
    }
    return std::nullopt;
  }
}

inline bool is_reserved(const std::string& id) { return core::is_reserved_id(id); }
inline bool is_reserved(const HoldInfo& hold) { return core::is_reserved_id(hold.id); }

// Takes each that a client may take; the others are refused by themselves.
Result<void> take_others(Store& store, const core::TakeEach& takes, Execution& execution);

// A listing of so many, which looks on behind those that it leaves out.
template <class What>
Result<typename What::Answer> list_visible(Store& store, What list, Execution& execution) {
  const std::size_t wanted = list.count_max;
  while (true) {
    auto found = TRY(store.run(list, execution));
    const bool is_all = found.size() < list.count_max;
    std::erase_if(found, [](const auto& each) { return is_reserved(each); });
    if (is_all || found.size() >= wanted) {
      if (found.size() > wanted) found.resize(wanted);
      return found;
    }
    list.count_max *= 2;
  }
}

}  // namespace reserved

// Carries an operation out for a client.
template <class What>
Result<typename What::Answer> run_for_client(Store& store, const What& operation, Execution& execution) {
  if constexpr (std::is_same_v<What, core::FindHold>) {
    if (core::is_reserved_id(operation.id)) return std::nullopt;
  } else if constexpr (std::is_same_v<What, core::FindLimit>) {
    if (core::is_reserved_limit(operation.name)) return std::nullopt;
  } else if constexpr (std::is_same_v<What, core::Drop>) {
    if (core::is_reserved_limit(operation.name)) return false;
  } else if (auto error = reserved::refusal(operation)) {
    if constexpr (std::is_same_v<What, core::TakeEach>) {
      return reserved::take_others(store, operation, execution);
    } else if constexpr (std::is_same_v<What, core::ShiftUsage>) {
      if (core::is_reserved_limit(operation.limit)) return std::move(*error);
      for (std::size_t i = 0; i < operation.shifts.size(); ++i) {
        const core::ShiftUsage one = operation.part(i, 1);
        if (auto refused = reserved::refusal(one)) {
          operation.answers[i] = std::move(*refused);
        } else if (auto done = store.run(one, execution); !done) {
          return done;
        }
      }
      return {};
    } else {
      return std::move(*error);
    }
  }
  if constexpr (std::is_same_v<What, core::ListHolds> || std::is_same_v<What, core::OldestHolds>) {
    return reserved::list_visible(store, operation, execution);
  } else if constexpr (std::is_same_v<What, core::ListTagged>) {
    auto ids = store.run(operation, execution);
    if (ids.has_value()) std::erase_if(*ids, [](const std::string& id) { return core::is_reserved_id(id); });
    return ids;
  } else if constexpr (std::is_same_v<What, core::ListLimits>) {
    auto names = store.run(operation, execution);
    if (names.has_value()) std::erase_if(*names, [](const std::string& name) { return core::is_reserved_limit(name); });
    return names;
  } else {
    return store.run(operation, execution);
  }
}

class Caller : public Calls<Caller> {
 public:
  Caller(Store& store, Execution& execution) : store_(store), execution_(execution) {}

  template <class What>
  Result<typename What::Answer> run(const What& operation) {
    return run_for_client(store_, operation, execution_);
  }
  // For another server, which has clients of its own and nodes among them.
  template <class What>
  Result<typename What::Answer> run_for_server(const What& operation) {
    return store_.run(operation, execution_);
  }
  [[nodiscard]] Keys keys();
  [[nodiscard]] Instant now() const { return execution_.now ? *execution_.now : store_.now(); }
  [[nodiscard]] Store& store() const { return store_; }

 private:
  Store& store_;
  Execution& execution_;
};

}  // namespace mete::store
