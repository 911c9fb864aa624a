#include "sim/workload.h"

#include <algorithm>
#include <array>
#include <functional>

#include "store/keys.h"

namespace mete::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kIdsObserved = 8;  // of each sort
constexpr std::array<std::string_view, 3> kKeys = {"ann", "bob", "cyd"};
constexpr std::array<std::string_view, 3> kTags = {"", "job", "run"};
constexpr std::array<std::string_view, 2> kQuotas = {"plan", "trial"};
constexpr std::string_view kThrottle = "posts";
constexpr std::array<std::string_view, 2> kCounters = {"hits", "misses"};

// What is taken of these is on disk before it is answered.
const std::vector<Limit>& exact_limits() {
  static const std::vector<Limit> kLimits = {
      stock("disk").amount(50),
      calendar("calls").amount(40).per(Unit::kHour).zone("Europe/Berlin"),
      bucket("api").amount(20).per(10s).burst(30).durable(Durable::kAlways),
      window("mail").amount(30).per(20s).durable(Durable::kAlways),
      sliding("login").amount(30).per(15s).durable(Durable::kAlways),
  };
  return kLimits;
}

const std::vector<Limit>& other_limits() {
  static const std::vector<Limit> kLimits = {
      bucket("pages").amount(20).per(10s).burst(30),
      stock("spool").amount(200).durable(Durable::kEverySecond),
      window("pings").amount(30).per(20s),
      sliding("frames").amount(30).per(15s).durable(Durable::kNever),
  };
  return kLimits;
}

// Errors but kUnavailable are answers like any other.
template <class T>
Result<void> acknowledged(const Result<T>& answer) {
  if (!answer.has_value() && answer.error().code == ErrorCode::kUnavailable) return answer.error();
  return {};
}

template <class T, class Tell>
std::string text_of(const Result<T>& answer, Tell tell) {
  return answer.has_value() ? tell(*answer) : std::string(to_string(answer.error().code));
}

std::string text_of(const Usage& usage) {
  return std::to_string(usage.used) + " used, " + std::to_string(usage.held) + " held, " +
         std::to_string(usage.remaining) + " of " + std::to_string(usage.limit) + ", reset " +
         std::to_string(usage.reset_after.ns());
}

std::string text_of(const core::Verdict& verdict) {
  return (verdict.is_allowed ? "allowed " : "denied ") + std::to_string(verdict.violated) + ", " +
         std::to_string(verdict.taken) + ", " + std::to_string(verdict.remaining) + ", " +
         std::to_string(verdict.retry_after.ns()) + ", " + std::to_string(verdict.reset_after.ns());
}

std::string text_of(const Limit& limit) {
  return std::string(to_string(limit.kind())) + " " + std::to_string(limit.amount()) + " per " +
         std::to_string(limit.period().value_or(Duration()).ns()) + ", " + std::string(to_string(limit.durability()));
}

std::string text_of(const HoldInfo& hold) {
  std::string text = std::string(to_string(hold.state)) + ", " + std::to_string(hold.expires_in.ns()) + " left, " +
                     std::to_string(hold.age.ns()) + " old, tag " + hold.tag;
  for (const HeldCharge& charge : hold.charges) {
    text += "; " + charge.limit + " " + charge.key + " " + std::to_string(charge.amount);
  }
  return text;
}

std::string text_of(std::vector<std::string> ids) {
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const std::string& id : ids) text += id + " ";
  return text;
}

void observe_meter(store::Caller& store, const store::MeterName& meter, Observation& observation) {
  const std::string name = std::string(meter.limit) + " of " + std::string(meter.key);
  const auto list = [](const std::vector<std::string>& ids) { return text_of(ids); };
  observation[name] = text_of(store.usage(meter), [](const Usage& usage) { return text_of(usage); });
  observation["holds of " + name] = text_of(store.holds(meter, 1000), list);
  const auto amount = [](const std::optional<Amount>& own) { return own ? std::to_string(*own) : "none"; };
  observation["override of " + name] = text_of(store.override_of(meter), amount);
}

// A take that makes the quota need not be on disk, but a definition must, even if it only repeats what the take said.
Result<void> take_quota(store::Keys keys, std::string_view quota, const store::QuotaRule& rule) {
  const auto standing = keys.quota_get(quota);
  auto taken = acknowledged(keys.quota_take(quota, rule, 1));
  if (!taken || !standing.has_value() || *standing) return taken;
  return acknowledged(keys.quota_set(quota, rule));
}

}  // namespace

std::string difference(const Observation& expected, const Observation& found) {
  for (const auto& [name, text] : expected) {
    const auto other = found.find(name);
    if (other == found.end()) return name + ": expected " + text + ", found nothing";
    if (other->second != text) return name + ": expected " + text + ", found " + other->second;
  }
  for (const auto& [name, text] : found) {
    if (!expected.contains(name)) return name + ": expected nothing, found " + text;
  }
  return "";
}

Result<void> Workload::define_limits(store::Store& store) {
  std::vector<Limit> limits = exact_limits();
  limits.insert(limits.end(), other_limits().begin(), other_limits().end());
  limits.push_back(stock(std::string(kNeverLimit)).amount(1000).durable(Durable::kNever));
  limits.push_back(stock(std::string(kOpenLimit)).amount(1000).on_fail(OnFail::kOpen));
  for (const Limit& limit : limits) {
    if (auto defined = store.define(limit); !defined) return defined;
  }
  return {};
}

Result<void> Workload::step(store::Store& store) {
  store::Execution execution;
  return step(store, execution);
}

Result<void> Workload::step(store::Store& store, store::Execution& execution) {
  store::Caller caller(store, execution);
  struct Choice {
    std::uint64_t weight;
    Result<void> (Workload::*act)(store::Caller&);
  };
  static constexpr std::array<Choice, 11> kChoices = {{{22, &Workload::take},
                                                       {3, &Workload::repeat},
                                                       {10, &Workload::take_with_id},
                                                       {10, &Workload::take_several},
                                                       {12, &Workload::give},
                                                       {15, &Workload::hold},
                                                       {14, &Workload::settle},
                                                       {3, &Workload::reconcile},
                                                       {4, &Workload::override_amount},
                                                       {2, &Workload::define_or_drop},
                                                       {5, &Workload::use_keys}}};
  std::uint64_t left = roll(100);
  for (const Choice& choice : kChoices) {
    if (left < choice.weight) return (this->*choice.act)(caller);
    left -= choice.weight;
  }
  return {};
}

Charge Workload::random_charge(bool is_exact) {
  const std::vector<Limit>& limits = is_exact ? exact_limits() : other_limits();
  return {.limit = limits[roll(limits.size())].name(),
          .key = kKeys[roll(kKeys.size())],
          .cost = static_cast<Amount>(1 + roll(roll(4) == 0 ? 25 : 4))};
}

Result<void> Workload::take(store::Caller& store) {
  const bool is_exact = roll(2) == 0;
  const Charge charge = random_charge(is_exact);
  // Forced usage may be above the limit; of the others nothing may.
  static constexpr std::array<Mode, 8> kModes = {Mode::kTake, Mode::kTake, Mode::kTake, Mode::kTake,
                                                 Mode::kTake, Mode::kUpTo, Mode::kPeek, Mode::kForce};
  const Mode mode = kModes[roll(is_exact ? kModes.size() : kModes.size() - 1)];
  return acknowledged(store.take({.charges = {&charge, 1}, .mode = mode}));
}

Result<void> Workload::take_with_id(store::Caller& store) {
  named_.push_back({new_id(), random_charge(true), false});
  return execute(store, named_.back());
}

Result<void> Workload::repeat(store::Caller& store) {
  return named_.empty() ? Result<void>() : execute(store, named_[roll(named_.size())]);
}

Result<void> Workload::execute(store::Caller& store, const Named& named) {
  if (named.is_give) return acknowledged(store.give({&named.charge, 1}, named.id));
  return acknowledged(store.take({.charges = {&named.charge, 1}, .id = named.id}));
}

Result<void> Workload::take_several(store::Caller& store) {
  const std::array<Charge, 3> charges = {random_charge(true), random_charge(roll(2) == 0), random_charge(false)};
  return acknowledged(store.take({.charges = {charges.data(), 2 + roll(2)}}));
}

Result<void> Workload::give(store::Caller& store) {
  const Charge charge = random_charge(roll(3) != 0);
  if (roll(2) == 0) return acknowledged(store.give({&charge, 1}, ""));
  named_.push_back({new_id(), charge, true});
  return execute(store, named_.back());
}

Result<void> Workload::hold(store::Caller& store) {
  const std::array<Charge, 2> charges = {random_charge(roll(3) != 0), random_charge(true)};
  holds_.push_back(new_id());
  return acknowledged(store.hold({.charges = {charges.data(), 1 + roll(2)},
                                  .ttl = std::chrono::seconds(1 + roll(20)),
                                  .id = holds_.back(),
                                  .tag = kTags[roll(kTags.size())]}));
}

Result<void> Workload::settle(store::Caller& store) {
  if (holds_.empty()) return {};
  const std::string& id = holds_[roll(holds_.size())];
  const std::array<Amount, 2> amounts = {static_cast<Amount>(roll(6)), static_cast<Amount>(roll(6))};
  const auto hold = store.find_hold(id);
  const std::size_t charges = hold.has_value() && *hold ? (*hold)->charges.size() : 1;
  switch (roll(5)) {
    case 0:
      return acknowledged(store.commit({.id = id}));
    case 1:
      return acknowledged(store.commit({.id = id, .amounts = {amounts.data(), charges}}));
    case 2:
      return acknowledged(store.commit({.id = id, .amounts = {amounts.data(), charges}, .allow_overage = true}));
    case 3:
      return acknowledged(store.cancel(id));
    default:
      return acknowledged(store.extend(id, std::chrono::seconds(1 + roll(30))));
  }
}

Result<void> Workload::reconcile(store::Caller& store) {
  const Charge charge = random_charge(true);
  return acknowledged(store.reconcile({charge.limit, charge.key}, static_cast<Amount>(roll(30))));
}

Result<void> Workload::override_amount(store::Caller& store) {
  const Charge charge = random_charge(true);
  const auto amount = roll(3) == 0 ? std::nullopt : std::optional<Amount>(10 + roll(60));
  return acknowledged(store.set_override({charge.limit, charge.key}, amount));
}

Result<void> Workload::define_or_drop(store::Caller& store) {
  Limit limit = exact_limits()[roll(exact_limits().size())];
  switch (roll(6)) {
    case 0:
      return acknowledged(store.drop(limit.name()));
    case 1:
      return acknowledged(store.clear());
    default:
      if (!may_define_) return override_amount(store);
      return acknowledged(store.define(limit.amount(limit.amount() + static_cast<Amount>(roll(10)))));
  }
}

Result<void> Workload::use_keys(store::Caller& store) {
  store::Keys keys = store.keys();
  const std::string_view quota = kQuotas[roll(kQuotas.size())];
  const std::string_view counter = kCounters[roll(kCounters.size())];
  const store::QuotaRule rule = {.amount = static_cast<Amount>(5 + roll(3)), .window = 30s};
  switch (roll(8)) {
    case 0:
      return acknowledged(keys.quota_set(quota, rule));
    case 1:
      return acknowledged(keys.quota_remove(quota));
    case 2:
    case 3:
      return take_quota(keys, quota, rule);
    case 4:
      return acknowledged(keys.throttle(kThrottle, {.capacity = 5, .count = 1, .period = 5s}));
    case 5:
      return acknowledged(keys.set({.key = counter, .value = 1, .expiry = store::Expiry::in(10s)}));
    case 6:
      return acknowledged(keys.remove(counter));
    default:
      return acknowledged(keys.add(counter, 1));
  }
}

Observation Workload::observe(store::Store& kept) const {
  // Answers as they are in memory, whether what they rest on is on disk or not.
  store::Execution execution = {.waits_for_disk = false};
  store::Caller store(kept, execution);
  Observation observation;
  for (const Limit& limit : exact_limits()) {
    const auto tell = [](const std::optional<Limit>& found) { return found ? text_of(*found) : "none"; };
    observation["limit " + limit.name()] = text_of(store.limit(limit.name()), tell);
    for (const std::string_view key : kKeys) observe_meter(store, {limit.name(), key}, observation);
  }
  for (const std::string_view tag : kTags) {
    if (!tag.empty()) {
      observation["tag " + std::string(tag)] =
          text_of(store.holds_tagged(tag), [](const std::vector<std::string>& ids) { return text_of(ids); });
    }
  }
  // Only what is there: in an earlier observation the newest ids are not yet named.
  for (const std::string& id : holds_) {
    const auto hold = store.find_hold(id);
    if (!hold.has_value() || *hold) {
      observation["hold " + id] = text_of(hold, [](const std::optional<HoldInfo>& info) { return text_of(*info); });
    }
  }
  for (const Named& named : named_) {
    const auto answer = store.recall({.charges = {&named.charge, 1}, .id = named.id});
    if (!answer.has_value() || *answer) {
      const auto tell = [](const std::optional<core::Verdict>& verdict) { return text_of(*verdict); };
      observation["answer to " + named.id] = text_of(answer, tell);
    }
  }
  for (const std::string_view quota : kQuotas) {
    const auto tell = [](const std::optional<store::QuotaStanding>& found) {
      return found ? std::to_string(found->rule.amount) : "none";
    };
    observation["quota " + std::string(quota)] = text_of(store.keys().quota_get(quota), tell);
  }
  return observation;
}

Observation Workload::observe_others(store::Store& kept) const {
  store::Execution execution = {.waits_for_disk = false};
  store::Caller store(kept, execution);
  Observation observation;
  for (const Limit& limit : other_limits()) {
    if (limit.durability() == Durable::kNever) continue;
    for (const std::string_view key : kKeys) observe_meter(store, {limit.name(), key}, observation);
  }
  std::vector<std::string_view> keys(kQuotas.begin(), kQuotas.end());
  keys.insert(keys.end(), kCounters.begin(), kCounters.end());
  keys.push_back(kThrottle);
  for (const std::string_view key : keys) {
    const auto tell = [](const auto& number) { return number ? std::to_string(*number) : "none"; };
    observation["key " + std::string(key)] = text_of(store.keys().get(key), tell);
    const auto tell_time = [](const auto& time) { return time ? std::to_string(time->ns()) : "none"; };
    observation["expiry of " + std::string(key)] = text_of(store.keys().expires_at(key), tell_time);
  }
  return observation;
}

std::string Workload::problem_of_others(store::Store& store) const {
  for (const Limit& limit : other_limits()) {
    for (const std::string_view key : kKeys) {
      const auto usage = store.usage({limit.name(), key});
      if (!usage) return limit.name() + ": " + usage.error().message;
      if (usage->used + usage->held > usage->limit) return limit.name() + " is over its limit: " + text_of(*usage);
    }
  }
  for (const std::string_view quota : kQuotas) {
    const auto standing = store.keys().quota_get(quota);
    if (!standing.has_value()) return standing.error().message;
    if (*standing && (*standing)->remaining > (*standing)->rule.amount) return "more remains of a quota than it has";
  }
  return "";
}

void Workload::forget_old_ids() {
  while (named_.size() > kIdsObserved) named_.pop_front();
  while (holds_.size() > kIdsObserved) holds_.pop_front();
}

}  // namespace mete::sim
