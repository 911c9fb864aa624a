#include "escrow/definitions.h"

#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "core/refusals.h"
#include "core/reserved.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kVersions = "mete.definitions";
constexpr std::string_view kVersionKey = "version";
constexpr Duration kReadEvery = std::chrono::seconds(5);

// A shadow limit denies nothing: what it would have denied is known only where all of it is counted.
bool is_for_shares(const Limit& limit) { return limit.scope() == Scope::kEscrow && !limit.is_shadow(); }

Amount random_generation() {
  return static_cast<Amount>(base::random_number() % static_cast<std::uint64_t>(kAmountMax)) + 1;
}

}  // namespace

Result<void> Definitions::load() {
  const std::scoped_lock reading(reading_);
  const auto versions = TRY(parts_.shared.limit(kVersions));
  if (!versions) {
    TRY(parts_.shared.define(stock(std::string(kVersions)).amount(kAmountMax)));
  }
  return read_all();
}

Result<void> Definitions::refresh() {
  const std::scoped_lock reading(reading_);
  const auto now = TRY(version());
  if (now == version_ && parts_.clock.now() - read_at_ < kReadEvery) return {};
  return read_all();
}

Result<std::uint64_t> Definitions::version() {
  return parts_.shared.usage({kVersions, kVersionKey}).map([](const Usage& usage) {
    return static_cast<std::uint64_t>(usage.used);
  });
}

// Afterwards every other node reads them anew.
Result<void> Definitions::announce() {
  const Charge one{kVersions, kVersionKey, 1};
  TRY(parts_.shared.take({.charges = {&one, 1}, .mode = Mode::kForce}));
  return {};
}

Result<void> Definitions::read_local(Table& table) {
  const auto names = TRY(parts_.local.limits());
  for (const std::string& name : names) {
    if (core::is_reserved_limit(name)) continue;
    const auto limit = TRY(parts_.local.limit(name));
    if (!limit) continue;
    const auto so_far = known(name);
    const bool is_same = so_far && so_far->is_here() && so_far->limit == *limit;
    table.emplace(name, is_same ? so_far : std::make_shared<const Definition>(Definition{*limit, false, nullptr}));
  }
  return {};
}

// The shared store may be far away, and have thousands: nobody who looks for one of them or defines one waits for that.
// What is changed meanwhile is newer than what was read.
Result<void> Definitions::read_all() {
  {
    const std::scoped_lock adopting(adopting_);
    changed_.clear();
  }
  const auto version_before = TRY(version());  // What is defined while this reads is read once more.
  Table table;
  TRY(read_local(table));
  std::set<std::string, std::less<>> without_generation;
  for (const auto& definition : TRY(read_shared())) {
    const std::string& name = definition->limit.name();
    if (is_for_shares(definition->limit) && !definition->is_drawn()) without_generation.insert(name);
    table.insert_or_assign(name, definition);
  }
  adopt_all(std::move(table));
  without_generation_ = std::move(without_generation);
  version_ = version_before;
  read_at_ = parts_.clock.now();
  return {};
}

Result<std::vector<std::shared_ptr<const Definition>>> Definitions::read_shared() {
  std::vector<std::string> names = TRY(parts_.shared.limits());
  std::erase_if(names, [](const std::string& name) { return core::is_reserved_limit(name); });
  std::vector<Result<std::shared_ptr<const Definition>>> read(names.size(), base::unavailable("this node stops"));
  const auto read_one = [&](std::size_t i) {
    if (!is_stopping_) read[i] = read_again(names[i]);
  };
  if (parts_.for_each) {
    parts_.for_each(names.size(), read_one);
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) read_one(i);
  }
  std::vector<std::shared_ptr<const Definition>> definitions;
  for (auto& each : read) {
    if (!each && each.error().code == ErrorCode::kNoLimit) continue;  // Dropped since.
    definitions.push_back(TRY(std::move(each)));
  }
  return definitions;
}

// One that was just defined gets its number from who defined it.
Result<std::shared_ptr<const Definition>> Definitions::read_again(std::string_view name) {
  if (without_generation_.contains(name)) {
    static_cast<void>(generation_of(name, true));  // What went wrong shows where it is read.
  }
  return read(name);
}

void Definitions::adopt_all(Table table) {
  const std::scoped_lock adopting(adopting_);
  for (const std::string& name : changed_) {
    table.erase(name);
    if (auto changed = known(name)) table.emplace(name, std::move(changed));
  }
  for (const auto& [name, definition] : table) {
    if (known(name) != definition) adopt(definition);
  }
  for (const std::string& name : names()) {
    if (!table.contains(name)) let_go(name);
  }
  const std::scoped_lock lock(mutex_);
  table_ = std::move(table);
  look_for_quotas();
}

Result<Amount> Definitions::generation_of(std::string_view name, bool makes) {
  const store::MeterName meter{name, core::kGenerationKey};
  const auto found = TRY(parts_.shared.override_of(meter));
  if (found || !makes) return found.value_or(0);
  TRY(parts_.shared.set_override(meter, random_generation()));
  const auto set = TRY(parts_.shared.override_of(meter));
  return set.value_or(0);
}

// The one that is known, where it is still the same.
Result<std::shared_ptr<const Definition>> Definitions::read(std::string_view name) {
  const auto limit = TRY(parts_.shared.limit(name));
  if (!limit) return core::unknown_limit(name);
  Amount generation = 0;
  if (is_for_shares(*limit)) generation = TRY(generation_of(name, false));
  auto definition = TRY(make(*limit, generation));
  const auto so_far = known(name);
  if (!so_far || so_far->is_here() || so_far->limit != definition->limit) return definition;
  const bool is_same =
      so_far->is_drawn() == definition->is_drawn() && (!so_far->is_drawn() || *so_far->terms == *definition->terms);
  return is_same ? so_far : definition;
}

Result<std::shared_ptr<const Definition>> Definitions::make(const Limit& limit, Amount generation) {
  if (!is_for_shares(limit)) return std::make_shared<const Definition>(Definition{limit, true, nullptr});
  const auto terms = TRY(terms_of(limit, generation));
  auto drawn = generation == 0 ? nullptr : std::make_shared<const Terms>(terms);
  return std::make_shared<const Definition>(Definition{limit, true, std::move(drawn)});
}

void Definitions::adopt_change(const std::shared_ptr<const Definition>& definition) {
  const std::scoped_lock adopting(adopting_);
  changed_.insert(definition->limit.name());
  adopt(definition);
}

void Definitions::let_go_change(std::string_view name) {
  const std::scoped_lock adopting(adopting_);
  ++drops_;
  changed_.emplace(name);
  let_go(name);
}

// What is drawn already goes by the new terms; it goes back where nothing is drawn any more.
void Definitions::adopt(const std::shared_ptr<const Definition>& definition) {
  if (definition->is_drawn()) {
    parts_.shares.revise(definition->limit.name(), definition->terms, parts_.clock.now());
  } else if (const auto so_far = known(definition->limit.name()); so_far && so_far->is_drawn()) {
    Terms over = *so_far->terms;
    over.is_over = true;
    parts_.shares.revise(definition->limit.name(), std::make_shared<const Terms>(over), parts_.clock.now());
  }
  const std::scoped_lock lock(mutex_);
  table_.insert_or_assign(definition->limit.name(), definition);
  look_for_quotas();
}

// Names that begin alike lie together.
void Definitions::look_for_quotas() {
  const auto first = table_.lower_bound(core::kQuotaLimits);
  has_quotas_ = first != table_.end() && first->first.starts_with(core::kQuotaLimits);
}

void Definitions::let_go(std::string_view name) {
  const auto definition = known(name);
  if (!definition) return;
  if (definition->is_drawn()) parts_.shares.forget(name);
  const std::scoped_lock lock(mutex_);
  if (const auto found = table_.find(name); found != table_.end()) table_.erase(found);
  look_for_quotas();
}

Result<void> Definitions::define(const Limit& limit) {
  const auto changing = changing_.lock(limit.name());
  const auto so_far = known(limit.name());
  const bool stays_there = so_far && so_far->is_shared;
  const bool is_here = limit.scope() == Scope::kNode && !stays_there;
  if (so_far && so_far->is_here() && !is_here) {
    return base::invalid("scope: limit '" + limit.name() + "' has scope " +
                         std::string(to_string(so_far->limit.scope())) +
                         ", and what is used of it cannot move: drop it first, or give the new one another name");
  }
  if (is_here) {
    TRY(parts_.local.define(limit));
    adopt_change(std::make_shared<const Definition>(Definition{limit, false, nullptr}));
    return {};
  }
  TRY(make(limit, 0));
  // A shared store that was wiped knows no limits, and grants nothing until somebody defines some.
  if (parts_.registration != nullptr) {
    TRY(parts_.registration->confirm());
  }
  TRY(parts_.shared.define(limit));
  Amount generation = 0;
  if (is_for_shares(limit)) generation = TRY(generation_of(limit.name(), true));
  const auto definition = TRY(make(limit, generation));
  adopt_change(definition);
  return announce();
}

Result<bool> Definitions::drop(std::string_view name) {
  const auto changing = changing_.lock(name);
  const auto so_far = known(name);
  if (so_far && so_far->is_here()) {
    let_go_change(name);
    return parts_.local.drop(name);
  }
  const auto dropped = TRY(parts_.shared.drop(name));
  let_go_change(name);
  TRY(announce());
  return dropped;
}

std::shared_ptr<const Definition> Definitions::known(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = table_.find(name);
  return found == table_.end() ? nullptr : found->second;
}

std::size_t Definitions::count_here(std::span<const Charge> charges) const {
  const std::shared_lock lock(mutex_);
  std::string_view looked_up;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].limit == looked_up) continue;
    looked_up = charges[i].limit;
    const auto found = table_.find(looked_up);
    if (found == table_.end() || !found->second->is_here()) return i;
  }
  return charges.size();
}

// A limit that was defined elsewhere a moment ago is asked for. Whoever asks at the same time asks, too: nobody waits
// for the answer to another one.
Result<std::shared_ptr<const Definition>> Definitions::find(std::string_view name) {
  if (auto definition = known(name)) return definition;
  if (core::is_reserved_limit(name)) return core::unknown_limit(name);
  while (true) {
    const std::uint64_t drops = count_drops();
    const auto read_now = TRY(read(name));
    if (auto definition = adopt_read(read_now, drops)) return definition;
  }
}

std::uint64_t Definitions::count_drops() {
  const std::scoped_lock adopting(adopting_);
  return drops_;
}

std::shared_ptr<const Definition> Definitions::adopt_read(const std::shared_ptr<const Definition>& definition,
                                                          std::uint64_t drops) {
  const std::scoped_lock adopting(adopting_);
  const std::string& name = definition->limit.name();
  if (auto so_far = known(name)) return so_far;
  if (drops_ != drops) return nullptr;
  changed_.insert(name);
  adopt(definition);
  return definition;
}

std::vector<std::string> Definitions::names() const {
  std::vector<std::string> names;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, definition] : table_) names.push_back(name);
  return names;
}

}  // namespace mete::escrow
