#include "server/configuration/config_draft.h"

#include "base/check.h"
#include "base/errors.h"
#include "base/suggest.h"
#include "base/try.h"

namespace mete::server {

namespace {

// Two ways to say one thing.
struct Alternatives {
  std::string_view one;
  std::string_view other;
};
constexpr Alternatives kAlternatives[] = {
    {"server.password", "server.password_file"},
    {"server.use_password", "server.use_password_file"},
    {"server.look_password", "server.look_password_file"},
    {"server.data", "store.url"},
};

void clear(Config& config, std::string_view name) {
  const Setting* setting = find_setting(name);
  CHECK(setting != nullptr);
  config.*std::get<std::string Config::*>(setting->member) = "";
}

}  // namespace

Result<void> ConfigDraft::set(const Setting& setting, std::string_view text, Origin origin) {
  if (auto ok = set_value(config_, setting, text); !ok) return base::invalid_at(origin.place, ok.error().message);
  origins_[setting.name] = std::move(origin);
  return {};
}

Result<Config> ConfigDraft::finish() && {
  for (const Alternatives& pair : kAlternatives) {
    TRY(choose(pair.one, pair.other));
  }
  if (const auto conflict = find_conflict(config_)) {
    return base::invalid_at(origin_of(conflict->setting).place, conflict->message);
  }
  for (const auto& [name, origin] : origins_) config_.places.by_name.emplace(name, origin.place);
  return std::move(config_);
}

// The one of the higher rank is meant, as with any single setting; two of one rank contradict each other.
Result<void> ConfigDraft::choose(std::string_view one, std::string_view other) {
  const Origin first = origin_of(one);
  const Origin second = origin_of(other);
  if (first.rank == Rank::kDefault && second.rank == Rank::kDefault) return {};
  if (first.rank == second.rank) {
    return base::invalid_at(second.place,
                            "there is " + std::string(one) + " too, and only one of the two can be meant");
  }
  clear(config_, first.rank < second.rank ? one : other);
  return {};
}

Origin ConfigDraft::origin_of(std::string_view name) const {
  const auto found = origins_.find(name);
  return found != origins_.end() ? found->second : Origin{Rank::kDefault, std::string(name)};
}

std::string suggest_setting(std::string_view name, std::string (*name_of)(const Setting&)) {
  std::vector<std::string> names;
  names.reserve(settings().size());
  for (const Setting& setting : settings()) names.push_back(name_of(setting));
  return base::did_you_mean(name, names);
}

}  // namespace mete::server
