#include "server/envoy/rules.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/hash.h"
#include "wire/text.h"

namespace mete::server::envoy {

namespace {

constexpr std::array<std::string_view, 8> kUnitNames = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                                        "DAY",     "MONTH",  "YEAR",   "WEEK"};
constexpr std::string_view kNamePrefix = "envoy.";
constexpr std::string_view kOwnNamePrefix = "envoy:";

std::optional<Unit> calendar_unit_of(RateUnit unit) {
  switch (unit) {
    case RateUnit::kHour:
      return Unit::kHour;
    case RateUnit::kDay:
      return Unit::kDay;
    case RateUnit::kWeek:
      return Unit::kWeek;
    case RateUnit::kMonth:
      return Unit::kMonth;
    case RateUnit::kYear:
      return Unit::kYear;
    default:
      return std::nullopt;
  }
}

// The seeds are fixed: a name is the same after a restart, and on every server.
std::string hash_text(std::string_view text) {
  std::array<char, 34> hash = {};
  std::snprintf(hash.data(), hash.size(), "~%016llx%016llx", static_cast<unsigned long long>(base::hash_bytes(text, 1)),
                static_cast<unsigned long long>(base::hash_bytes(text, 2)));
  return hash.data();
}

std::string name_with(std::string_view prefix, std::string_view path) {
  std::string name(prefix);
  bool is_changed = false;
  for (const char letter : path) {
    const bool is_control = static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
    name += is_control ? '?' : letter;
    is_changed = is_changed || is_control;
  }
  // Two paths that differ in what a name cannot have stay two.
  if (is_changed) name += hash_text(path);
  return shortened(std::move(name), kNameBytesMax);
}

void collect(const Level& level, std::vector<const Rule*>& rules) {
  const auto add = [&](const Descriptor& descriptor) {
    if (descriptor.rule && descriptor.rule->limit) rules.push_back(&*descriptor.rule);
    if (descriptor.below) collect(*descriptor.below, rules);
  };
  for (const auto& [key, descriptor] : level.exact) add(descriptor);
  for (const Descriptor& descriptor : level.patterns) add(descriptor);
}

}  // namespace

Duration length_of(RateUnit unit) {
  using std::chrono::hours;
  switch (unit) {
    case RateUnit::kUnknown:
    case RateUnit::kSecond:
      return std::chrono::seconds(1);
    case RateUnit::kMinute:
      return std::chrono::minutes(1);
    case RateUnit::kHour:
      return hours(1);
    case RateUnit::kDay:
      return hours(24);
    case RateUnit::kWeek:
      return hours(24 * 7);
    case RateUnit::kMonth:
      return hours(24 * 30);
    case RateUnit::kYear:
      return hours(24 * 365);
  }
  __builtin_unreachable();
}

std::optional<RateUnit> rate_unit_of(std::string_view name) {
  for (std::size_t i = 1; i < kUnitNames.size(); ++i) {
    if (wire::equals_ignoring_case(name, kUnitNames[i])) return static_cast<RateUnit>(i);
  }
  return std::nullopt;
}

std::string_view to_string(RateUnit unit) { return kUnitNames[static_cast<std::size_t>(unit)]; }

const Level* Rules::find_domain(std::string_view domain) const {
  const auto found = domains_.find(domain);
  return found == domains_.end() ? nullptr : &found->second;
}

std::vector<const Rule*> Rules::limited() const {
  std::vector<const Rule*> rules;
  for (const auto& [domain, level] : domains_) collect(level, rules);
  return rules;
}

std::string shortened(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const std::string end = hash_text(text);
  text.resize(bytes_max - end.size());
  // A name in UTF-8 stays one: no letter is cut in two.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80U) != 0) text.pop_back();
  return text.append(end);
}

std::string limit_name(std::string_view path) { return name_with(kNamePrefix, path); }

std::string own_limit_name(std::string_view path) { return name_with(kOwnNamePrefix, path); }

Limit limit_of(const std::string& name, Amount amount, RateUnit unit) {
  const auto calendar_unit = calendar_unit_of(unit);
  Limit limit(calendar_unit ? Kind::kCalendar : Kind::kWindow, name);
  limit.amount(amount).durable(Durable::kEverySecond);
  return calendar_unit ? limit.per(*calendar_unit) : limit.per(length_of(unit));
}

}  // namespace mete::server::envoy
