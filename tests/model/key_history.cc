#include "model/key_history.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "model/model_keys.h"

namespace mete::model {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCallNames[] = {
    "get",        "set",      "take_out", "add",    "add_bounded", "quota_set", "quota_get", "quota_remove",
    "quota_take", "throttle", "type",     "remove", "expires_at",  "expire",    "persist",   "list"};
static_assert(std::size(kCallNames) == kKeyCalls);

std::string in_words(std::int64_t number) { return std::to_string(number); }
std::string in_words(bool is_so) { return is_so ? "yes" : "no"; }
std::string in_words(Duration length) { return length.is_never() ? "never" : in_words(length.ns()) + " ns"; }
std::string in_words(Instant at) { return at == Instant::max() ? "never" : std::to_string(at.ns()) + " ns"; }
std::string in_words(store::KeyType type) { return std::string(core::to_string(type)); }
std::string in_words(const store::QuotaRule& rule) { return in_words(rule.amount) + " per " + in_words(rule.window); }
std::string in_words(const store::QuotaStanding& quota) {
  return in_words(quota.remaining) + " of " + in_words(quota.rule);
}
template <class T>
std::string in_words(const std::optional<T>& value) {
  return value ? in_words(*value) : "none";
}
std::string in_words(const store::SetAnswer& answer) {
  return answer.is_out_of_reach ? "out of reach" : in_words(answer.is_set) + ", old " + in_words(answer.old);
}
std::string in_words(const store::BoundedSum& sum) { return in_words(sum.value) + " by " + in_words(sum.applied); }
std::string in_words(const core::Verdict& verdict) {
  return in_words(verdict.is_allowed) + " taken " + in_words(verdict.taken) + ", " + in_words(verdict.remaining) +
         " of " + in_words(verdict.limit) + ", retry " + in_words(verdict.retry_after) + ", reset " +
         in_words(verdict.reset_after);
}
template <class AnyResult>
std::string answer_of(const AnyResult& result) {
  if (!result.has_value()) return "error " + std::string(to_string(result.error().code));
  if constexpr (std::is_same_v<AnyResult, Result<void>>) {
    return "done";
  } else {
    return in_words(*result);
  }
}

Result<std::optional<Instant>> rounded_end(Result<std::optional<Instant>> end, Duration resolution) {
  if (end.has_value() && *end) **end = round_up(**end, resolution);
  return end;
}

std::string in_words(const store::Expiry& expiry) {
  constexpr std::string_view kKinds[] = {"keep", "none", "in ", "at "};
  std::string text(kKinds[static_cast<std::size_t>(expiry.kind)]);
  if (expiry.kind == store::Expiry::Kind::kIn) text += in_words(expiry.length);
  if (expiry.kind == store::Expiry::Kind::kAt) text += std::to_string(expiry.instant.ns()) + " ns";
  return text;
}

std::string list(store::Keys& keys) {
  std::vector<std::string> rows;
  std::uint64_t cursor = 0;
  do {
    const store::KeyPage page = keys.scan(cursor, 100).value();
    for (const core::ListedKey& listed : page.keys) rows.push_back(listed.key + ":" + in_words(listed.type));
    cursor = page.cursor;
  } while (cursor != 0);
  std::sort(rows.begin(), rows.end());
  std::string text;
  for (const std::string& row : rows) text += row + " ";
  return text;
}

}  // namespace

std::string execute(store::Store& store, const KeyOperation& operation) {
  store::Keys keys = store.keys();
  store::SetCounter set = operation.set;
  set.key = operation.key;
  set.expiry = operation.expiry;
  store::AddBounded bounded = operation.bounded;
  bounded.key = operation.key;
  bounded.by = operation.by;
  bounded.expiry = operation.expiry;
  switch (operation.call) {
    case KeyCall::kGet:
      return answer_of(keys.get(operation.key));
    case KeyCall::kSet:
      return answer_of(keys.set(set));
    case KeyCall::kTakeOut:
      return answer_of(keys.take_out(operation.key));
    case KeyCall::kAdd:
      return answer_of(keys.add(operation.key, operation.by));
    case KeyCall::kAddBounded:
      return answer_of(keys.add_bounded(bounded));
    case KeyCall::kQuotaSet:
      return answer_of(keys.quota_set(operation.key, operation.quota));
    case KeyCall::kQuotaGet:
      return answer_of(keys.quota_get(operation.key));
    case KeyCall::kQuotaRemove:
      return answer_of(keys.quota_remove(operation.key));
    case KeyCall::kQuotaTake:
      return answer_of(keys.quota_take(operation.key, operation.quota, operation.by));
    case KeyCall::kThrottle:
      return answer_of(rounded(keys.throttle(operation.key, operation.throttle), operation.resolution));
    case KeyCall::kType:
      return answer_of(keys.type(operation.key));
    case KeyCall::kRemove:
      return answer_of(keys.remove(operation.key, set.reach));
    case KeyCall::kExpiresAt:
      return answer_of(rounded_end(keys.expires_at(operation.key), operation.resolution));
    case KeyCall::kExpire:
      return answer_of(keys.expire(operation.key, operation.expiry, operation.expiry_condition));
    case KeyCall::kPersist:
      return answer_of(keys.persist(operation.key));
    case KeyCall::kList:
      return list(keys);
  }
  __builtin_unreachable();
}

std::string to_text(const KeyOperation& operation) {
  std::string text = std::to_string(operation.at.ns()) + " ns: ";
  text += std::string(kCallNames[static_cast<std::size_t>(operation.call)]) + " " + operation.key;
  const std::string reach = operation.set.reach == store::KeyReach::kAllButQuotas ? " unless it is a quota" : "";
  switch (operation.call) {
    case KeyCall::kSet:
      return text + " " + in_words(operation.set.value) + " expiry " + in_words(operation.expiry) + " condition " +
             std::to_string(static_cast<int>(operation.set.condition)) + " old " + in_words(operation.set.wants_old) +
             reach;
    case KeyCall::kRemove:
      return text + reach;
    case KeyCall::kAdd:
      return text + " " + in_words(operation.by);
    case KeyCall::kAddBounded:
      return text + " " + in_words(operation.by) + " from " + in_words(operation.bounded.lower) + " to " +
             in_words(operation.bounded.upper) + " saturate " + in_words(operation.bounded.saturate) + " expiry " +
             in_words(operation.expiry) + " if none " + in_words(operation.bounded.expiry_only_if_none);
    case KeyCall::kQuotaSet:
      return text + " " + in_words(operation.quota);
    case KeyCall::kQuotaTake:
      return text + " " + in_words(operation.by) + " of " + in_words(operation.quota);
    case KeyCall::kThrottle:
      return text + " " + in_words(operation.throttle.quantity) + " of " + in_words(operation.throttle.capacity) +
             ", " + in_words(operation.throttle.count) + " per " + in_words(operation.throttle.period);
    case KeyCall::kExpire:
      return text + " " + in_words(operation.expiry) + " condition " +
             std::to_string(static_cast<int>(operation.expiry_condition));
    default:
      return text;
  }
}

void set_clock(ManualClock& clock, Instant at, const std::function<void(const KeyOperation&)>& look) {
  KeyOperation type;
  type.call = KeyCall::kType;
  type.key = "k1";
  if (at < clock.now()) look(type);
  clock.set(at);
}

namespace {

struct KeyDifference {
  std::size_t operation = 0;
  std::string expected;
  std::string actual;
};

std::optional<KeyDifference> compare_keys(const KeyHistory& history, const KeySubjectFactory& factory) {
  ManualClock clock(history.empty() ? Instant() : history.front().at);
  ModelKeys model(clock);
  const KeySubject subject = factory(clock);
  for (std::size_t i = 0; i < history.size(); ++i) {
    set_clock(clock, history[i].at, [&](const KeyOperation& look) { (void)(execute(model, look) + subject(look)); });
    const std::string expected = execute(model, history[i]);
    const std::string actual = subject(history[i]);
    if (expected != actual) return KeyDifference{i, expected, actual};
  }
  return std::nullopt;
}

// Cuts operations as long as the rest still differs.
KeyHistory shrink_keys(KeyHistory history, const KeySubjectFactory& factory) {
  if (const auto difference = compare_keys(history, factory)) history.resize(difference->operation + 1);
  for (std::size_t at = history.size(); at > 0; --at) {
    KeyHistory shorter = history;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(at - 1));
    if (compare_keys(shorter, factory)) history = std::move(shorter);
  }
  return history;
}

}  // namespace

std::optional<std::string> find_key_difference(const KeySubjectFactory& factory, const KeySearch& search) {
  for (int i = 0; i < search.histories; ++i) {
    const std::uint64_t seed = search.seed + static_cast<std::uint64_t>(i);
    const KeyHistory history = random_key_history(seed, search.operations, search.times);
    const auto first = compare_keys(history, factory);
    if (!first) continue;
    KeyHistory small = shrink_keys(history, factory);
    auto difference = compare_keys(small, factory);
    std::string report = "The answers differ. Replay with METE_SEED=" + std::to_string(seed) + "\n";
    if (!difference) {  // a store behind a network has threads and a time-out
      report += "They do not differ each time; this is the whole history.\n";
      small = history;
      small.resize(first->operation + 1);
      difference = first;
    }
    for (const KeyOperation& operation : small) report += "  " + to_text(operation) + "\n";
    return report + "expected: " + difference->expected + "\n  actual: " + difference->actual + "\n";
  }
  return std::nullopt;
}

}  // namespace mete::model
