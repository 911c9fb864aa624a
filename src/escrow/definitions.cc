#include "escrow/definitions.h"

#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "core/refusals.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kVersions = "mete.definitions";
constexpr std::string_view kVersionKey = "version";
constexpr Duration kReadEvery = std::chrono::seconds(5);

bool is_reserved(std::string_view name) { return name.starts_with(kReservedPrefix) && !name.starts_with(kQuotaPrefix); }

}  // namespace

Result<void> Definitions::load() {
  const std::scoped_lock changing(changing_);
  const auto versions = TRY(parts_.shared.limit(kVersions));
  if (!versions) {
    TRY(parts_.shared.define(stock(std::string(kVersions)).amount(kAmountMax)));
  }
  return read_all();
}

Result<void> Definitions::refresh() {
  const std::scoped_lock changing(changing_);
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
    if (is_reserved(name)) continue;
    const auto limit = TRY(parts_.local.limit(name));
    if (!limit) continue;
    const auto so_far = known(name);
    const bool is_same = so_far && so_far->limit == *limit;
    table.emplace(name, is_same ? so_far : std::make_shared<const Definition>(Definition{*limit, nullptr}));
  }
  return {};
}

Result<void> Definitions::read_all() {
  const auto version_before = TRY(version());  // What is defined while this reads is read once more.

  Table table;
  TRY(read_local(table));
  const auto names = TRY(parts_.shared.limits());
  for (const std::string& name : names) {
    if (is_reserved(name)) continue;
    const auto limit = TRY(parts_.shared.limit(name));
    if (!limit) continue;  // Dropped since.
    const auto so_far = known(name);
    auto definition =
        TRY(so_far && so_far->limit == *limit ? Result<std::shared_ptr<const Definition>>(so_far) : make(*limit));
    table.insert_or_assign(name, std::move(definition));
  }
  for (const auto& [name, definition] : table) {
    if (known(name) == definition) continue;
    TRY(adopt(definition));
  }
  for (const std::string& name : this->names()) {
    if (!table.contains(name)) let_go(name);
  }
  const std::scoped_lock lock(mutex_);
  table_ = std::move(table);
  version_ = version_before;
  read_at_ = parts_.clock.now();
  return {};
}

Result<std::shared_ptr<const Definition>> Definitions::make(const Limit& limit) {
  // A shadow limit denies nothing: what it would have denied is known only where all of it is counted.
  if (limit.scope() != Scope::kEscrow || limit.is_shadow()) {
    return std::make_shared<const Definition>(Definition{limit, nullptr});
  }
  // This node keeps its share of a stock under a longer name.
  constexpr std::size_t kStockNameMax = kNameBytesMax - StockBook::kSharePrefix.size();
  if (limit.kind() == Kind::kStock && limit.name().size() > kStockNameMax) {
    return base::invalid("limit name: that of a stock of scope escrow has at most " + std::to_string(kStockNameMax) +
                         " bytes, not " + std::to_string(limit.name().size()));
  }
  const auto terms = TRY(terms_of(limit));
  return std::make_shared<const Definition>(Definition{limit, std::make_shared<const Terms>(terms)});
}

// What is drawn already goes by the new terms.
Result<void> Definitions::adopt(const std::shared_ptr<const Definition>& definition) {
  if (definition->is_drawn()) {
    const Limit& limit = definition->limit;
    if (limit.kind() == Kind::kStock) {
      TRY(parts_.book.open(limit.name()));
    }
    parts_.shares.revise(limit.name(), definition->terms, parts_.clock.now());
  }
  const std::scoped_lock lock(mutex_);
  table_.insert_or_assign(definition->limit.name(), definition);
  return {};
}

void Definitions::let_go(std::string_view name) {
  const auto definition = known(name);
  if (!definition) return;
  if (definition->is_drawn()) {
    parts_.shares.forget(name);
    // Best effort: a stock that comes back under the same name is another one, and its shares are drawn anew.
    if (definition->limit.kind() == Kind::kStock) static_cast<void>(parts_.book.close(name));
  }
  const std::scoped_lock lock(mutex_);
  if (const auto found = table_.find(name); found != table_.end()) table_.erase(found);
}

Result<void> Definitions::define(const Limit& limit) {
  const std::scoped_lock changing(changing_);
  const auto so_far = known(limit.name());
  if (so_far && so_far->is_here() != (limit.scope() == Scope::kNode)) {
    return base::invalid("scope: limit '" + limit.name() + "' has scope " +
                         std::string(to_string(so_far->limit.scope())) +
                         ", and what is used of it cannot move: drop it first, or give the new one another name");
  }
  auto definition = TRY(make(limit));
  const bool is_here = definition->is_here();
  // A shared store that was wiped knows no limits, and grants nothing until somebody defines some.
  if (!is_here && parts_.registration != nullptr) {
    TRY(parts_.registration->confirm());
  }
  TRY((is_here ? parts_.local : parts_.shared).define(limit));
  TRY(adopt(definition));
  return is_here ? Result<void>() : announce();
}

Result<bool> Definitions::drop(std::string_view name) {
  const std::scoped_lock changing(changing_);
  const auto so_far = known(name);
  if (so_far && so_far->is_here()) {
    let_go(name);
    return parts_.local.drop(name);
  }
  const auto dropped = TRY(parts_.shared.drop(name));
  let_go(name);
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

// A limit that was defined elsewhere a moment ago is asked for.
Result<std::shared_ptr<const Definition>> Definitions::find(std::string_view name) {
  if (auto definition = known(name)) return definition;
  if (is_reserved(name)) return core::unknown_limit(name);
  const std::scoped_lock changing(changing_);
  const auto limit = TRY(parts_.shared.limit(name));
  if (!limit) return core::unknown_limit(name);
  auto definition = TRY(make(*limit));
  TRY(adopt(definition));
  return definition;
}

std::vector<std::string> Definitions::names() const {
  std::vector<std::string> names;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, definition] : table_) names.push_back(name);
  return names;
}

}  // namespace mete::escrow
