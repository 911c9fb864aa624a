#include "model/history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/generator.h"

namespace mete::model {

namespace {

std::string_view name_of(Call call) {
  constexpr std::string_view kNames[] = {"define", "drop",      "override",  "clear_override", "take",
                                         "give",   "hold",      "commit",    "commit",         "commit_with_overage",
                                         "cancel", "extend",    "find_hold", "holds",          "holds_tagged",
                                         "usage",  "reconcile", "limits"};
  return kNames[static_cast<std::size_t>(call)];
}

std::string definition_of(const Limit& limit) {
  std::string text =
      std::string(to_string(limit.kind())) + " " + limit.name() + " amount " + std::to_string(limit.amount());
  if (limit.period()) text += " per " + std::to_string(limit.period()->ns()) + " ns";
  if (limit.unit()) text += " per " + std::string(to_string(*limit.unit()));
  if (limit.anchor()) text += " anchor " + std::to_string(*limit.anchor());
  if (limit.burst()) text += " burst " + std::to_string(*limit.burst());
  if (limit.is_shadow()) text += " shadow";
  return text;
}

using MeterName = std::pair<std::string, std::string>;

// Which meters may be above their amount, and for a reason.
class Excuses {
 public:
  void note(const Operation& operation) {
    if (operation.call == Call::kDefine) limits_.insert(operation.limit->name());
    const bool is_forced = operation.call == Call::kTake && operation.mode == Mode::kForce;
    const bool is_set = operation.call == Call::kOverride || operation.call == Call::kClearOverride ||
                        operation.call == Call::kReconcile;
    if (!is_forced && !is_set) return;
    for (const OwnedCharge& charge : operation.charges) meters_.insert({charge.limit, charge.key});
  }
  // Once it is seen at or below its amount, an excuse for a meter is used up.
  bool covers(const MeterName& meter, bool is_above) {
    if (!is_above) {
      meters_.erase(meter);
      return true;
    }
    return meters_.contains(meter) || limits_.contains(meter.first);
  }

 private:
  std::set<MeterName> meters_;
  std::set<std::string> limits_;
};

std::set<MeterName> meters_of(const Operation& operation) {
  std::set<MeterName> meters;
  for (const OwnedCharge& charge : operation.charges) meters.insert({charge.limit, charge.key});
  return meters;
}

std::string describe(const Result<Usage>& usage, Duration resolution) {
  if (!usage) return "error " + std::string(to_string(usage.error().code));
  return "used " + std::to_string(usage->used) + " held " + std::to_string(usage->held) + " remaining " +
         std::to_string(usage->remaining) + " limit " + std::to_string(usage->limit) + " reset " +
         std::to_string(round_up(usage->reset_after, resolution).ns());
}

// The subjects that answer the same operations.
struct Compared {
  Subject& model;
  Subject& subject;
};

std::optional<Difference> probe(const MeterName& meter, const Compared& compared, Excuses& excuses,
                                Duration resolution) {
  const auto actual = compared.subject.usage(meter.first, meter.second);
  const std::string expected_words = describe(compared.model.usage(meter.first, meter.second), resolution);
  const std::string actual_words = describe(actual, resolution);
  const std::string where = "usage of " + meter.first + " " + meter.second + ": ";
  if (expected_words != actual_words) return Difference{0, where + expected_words, where + actual_words};
  if (!actual) return std::nullopt;
  const bool is_above = actual->used + actual->held > actual->limit;
  if (excuses.covers(meter, is_above)) return std::nullopt;
  return Difference{0, where + "at most the limit", where + actual_words};
}

// Defining a limit anew excuses all its meters; defining it at first excuses none.
bool is_first_definition(const History& history, std::size_t index) {
  const Operation& operation = history.operations[index];
  for (std::size_t i = 0; i < index; ++i) {
    const Operation& earlier = history.operations[i];
    if (earlier.call == Call::kDefine && earlier.limit->name() == operation.limit->name()) return false;
  }
  return true;
}

struct Found {
  const History& history;
  const Difference& difference;
  std::uint64_t seed = 0;
};

std::string report(const Found& found, const SubjectFactory& factory, const Comparison& comparison) {
  const auto& [history, first, seed] = found;
  History small = shrink(history, factory, comparison);
  auto difference = comparison(small, factory);
  std::string text = "The answers differ. Replay with METE_SEED=" + std::to_string(seed) + "\n";
  if (!difference) {  // a store behind a network has threads and a time-out
    text += "They do not differ each time; this is the whole history.\n";
    small = history;
    small.operations.resize(first.operation + 1);
    difference = first;
  }
  for (const Operation& operation : small.operations) text += "  " + to_text(operation) + "\n";
  if (small.is_probed) text += "  (with a look at the usage after each)\n";
  text += "expected: " + difference->expected + "\n  actual: " + difference->actual + "\n";
  return text;
}

}  // namespace

std::vector<Charge> views_of(const std::vector<OwnedCharge>& charges) {
  std::vector<Charge> views;
  for (const OwnedCharge& charge : charges) views.push_back({charge.limit, charge.key, charge.cost});
  return views;
}

std::string to_text(const Operation& operation) {
  std::string text = std::to_string(operation.at.ns()) + " ns: " + std::string(name_of(operation.call));
  constexpr std::string_view kModes[] = {"", " peek", " up_to", " force"};
  text += kModes[static_cast<std::size_t>(operation.mode)];
  if (operation.limit) return text + " " + definition_of(*operation.limit);
  if (!operation.id.empty()) text += " id " + operation.id;
  if (!operation.nickname.empty()) text += " as " + operation.nickname;
  for (const OwnedCharge& charge : operation.charges) {
    text += " {" + charge.limit + " " + charge.key + " " + std::to_string(charge.cost) + "}";
  }
  if (operation.ttl != Duration()) text += " ttl " + std::to_string(operation.ttl.ns()) + " ns";
  if (!operation.tag.empty()) text += " tag " + operation.tag;
  for (const Amount amount : operation.amounts) text += " " + std::to_string(amount);
  if (operation.amount != 0) text += " amount " + std::to_string(operation.amount);
  return text;
}

std::optional<Difference> compare(const History& history, const SubjectFactory& factory) {
  ManualClock clock(history.operations.empty() ? Instant() : history.operations.front().at);
  const auto model = model_subject()(clock);
  const auto subject = factory(clock);
  Excuses excuses;
  for (std::size_t i = 0; i < history.operations.size(); ++i) {
    const Operation& operation = history.operations[i];
    if (operation.at < clock.now()) {
      // Not every call reads the clock: here both see the time before it is set back.
      (void)model->usage("nowhere", "k");
      (void)subject->usage("nowhere", "k");
    }
    clock.set(operation.at);
    const std::string expected = model->execute(operation);
    const std::string actual = subject->execute(operation);
    if (expected != actual) return Difference{i, expected, actual};
    if (operation.call != Call::kDefine || !is_first_definition(history, i)) excuses.note(operation);
    if (!history.is_probed) continue;
    for (const MeterName& meter : meters_of(operation)) {
      if (auto difference = probe(meter, {*model, *subject}, excuses, operation.resolution)) {
        difference->operation = i;
        return difference;
      }
    }
  }
  return std::nullopt;
}

History shrink(History history, const SubjectFactory& factory, const Comparison& comparison) {
  if (const auto difference = comparison(history, factory)) history.operations.resize(difference->operation + 1);
  if (history.is_probed) {
    History unprobed = history;
    unprobed.is_probed = false;
    if (comparison(unprobed, factory)) history = unprobed;
  }
  for (std::size_t length = history.operations.size() / 2; length > 0;) {
    bool is_cut = false;
    for (std::size_t at = 0; at + length <= history.operations.size();) {
      History shorter = history;
      const auto first = shorter.operations.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.operations.erase(first, first + static_cast<std::ptrdiff_t>(length));
      if (comparison(shorter, factory)) {
        history = std::move(shorter);
        is_cut = true;
      } else {
        at += length;
      }
    }
    if (!is_cut || length > 1) length /= 2;
  }
  // Charges that do not matter.
  for (Operation& operation : history.operations) {
    for (std::size_t at = 0; operation.charges.size() > 1 && at < operation.charges.size();) {
      const auto all = operation.charges;
      operation.charges.erase(operation.charges.begin() + static_cast<std::ptrdiff_t>(at));
      if (!comparison(history, factory)) {
        operation.charges = all;
        ++at;
      }
    }
  }
  return history;
}

std::optional<std::string> find_difference(const SubjectFactory& factory, const Search& search,
                                           const Comparison& comparison) {
  for (int i = 0; i < search.histories; ++i) {
    const std::uint64_t seed = search.seed + static_cast<std::uint64_t>(i);
    const History history = random_history(seed, search.operations, search.times);
    if (const auto difference = comparison(history, factory)) {
      return report({history, *difference, seed}, factory, comparison);
    }
  }
  return std::nullopt;
}

}  // namespace mete::model
