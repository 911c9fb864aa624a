// The fields of answers, described once: tell(name, value, meaning), in the order in which RESP lists them, by the
// names that JSON has, with the sentence that the documentation has. Pure.
//
//     describe_fields(usage, [&](std::string_view name, const auto& value, std::string_view meaning) { … });
#pragma once

#include <mete/decision.h>

#include <concepts>
#include <string_view>
#include <type_traits>

#include "core/verdict.h"

namespace mete {

// Value is one of Plain, which one may change or not.
template <class Value, class... Plain>
concept IsAnyOf = (std::same_as<std::remove_const_t<Value>, Plain> || ...);

inline constexpr std::string_view kHoldStateNames = "held|committed|cancelled|expired";

// A text that is one of a few: "a|b|c".
struct OneOf {
  std::string_view text;
  std::string_view names;
};

// All but the limits that did not fit: a Verdict has no names of them.
constexpr void describe_fields(IsAnyOf<Decision, HoldDecision, core::Verdict> auto& decision, auto&& tell) {
  tell("allowed", decision.is_allowed, "Whether it may happen.");
  tell("remaining", decision.remaining, "What is left, of the tightest charge.");
  tell("limit", decision.limit, "What a fresh meter has, of the same charge.");
  tell("retry_after_ms", decision.retry_after, "0 when allowed; -1 when no wait is enough.");
  tell("reset_after_ms", decision.reset_after, "Until the meter is as a fresh one; -1 for a stock.");
}
// What its amount is called depends on the operation: "returned" or "committed".
constexpr void describe_fields(IsAnyOf<Settlement> auto& settlement, auto&& tell, std::string_view amount_name,
                               std::string_view meaning) {
  tell(amount_name, settlement.amount, meaning);
  tell("remaining", settlement.remaining, "What is left, of the tightest charge.");
  tell("limit", settlement.limit, "What a fresh meter has, of the same charge.");
}
constexpr void describe_fields(IsAnyOf<Usage> auto& usage, auto&& tell) {
  tell("used", usage.used, "Without what is held.");
  tell("held", usage.held, "By open holds.");
  tell("remaining", usage.remaining, "What is left.");
  tell("limit", usage.limit, "What a fresh meter has.");
  tell("reset_after_ms", usage.reset_after, "Until the meter is as a fresh one; -1 for a stock.");
}
constexpr void describe_fields(IsAnyOf<Reconciliation> auto& change, auto&& tell) {
  tell("used_before", change.used_before, "Without what is held.");
  tell("used_now", change.used_now, "Without what is held.");
}
constexpr void describe_fields(IsAnyOf<HeldCharge> auto& charge, auto&& tell) {
  tell("limit", charge.limit, "The limit's name.");
  tell("key", charge.key, "Who is charged.");
  tell("amount", charge.amount, "What is held, or was committed.");
}
// Behind its id.
constexpr void describe_fields(IsAnyOf<HoldInfo> auto& hold, auto&& tell) {
  tell("state", hold.state, "Final once it is not held.");
  tell("expires_in_ms", hold.expires_in, "0 once it is final.");
  tell("tag", hold.tag, "Empty if it has none.");
  tell("charges", hold.charges, "In the order in which they were made.");
}

}  // namespace mete
