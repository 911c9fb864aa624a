#include "server/envoy/match.h"

#include <algorithm>

namespace mete::server::envoy {

namespace {

// The key of a meter whose rule leaves no value open. A rule leaves the same values open for all requests, so it is
// never taken for a value.
constexpr std::string_view kOnlyMeter = "-";

// Values joined by commas so that no two lists read the same: what could be mistaken is written as %, and so is a value
// that is empty.
void add_value(std::string& key, std::string_view value) {
  if (!key.empty()) key += ',';
  if (value.empty()) key += '%';
  for (const char letter : value) {
    if (letter == ',') {
      key += "%2C";
    } else if (letter == '%') {
      key += "%25";
    } else {
      key += letter;
    }
  }
}

// Of a name of several parts, which are joined by dots: no two lists read the same.
void add_part(std::string& path, std::string_view part) {
  for (const char letter : part) {
    if (letter == '.') {
      path += "%2E";
    } else if (letter == '%') {
      path += "%25";
    } else {
      path += letter;
    }
  }
}

std::string finished(std::string key) {
  return key.empty() ? std::string(kOnlyMeter) : shortened(std::move(key), kKeyBytesMax);
}

const Descriptor* find_in(const Level& level, const Entry& entry, std::string& composite) {
  composite.assign(entry.key).append(1, '_').append(entry.value);
  if (const auto exact = level.exact.find(std::string_view(composite)); exact != level.exact.end()) {
    if (!exact->second.takes_any_value) return &exact->second;
  }
  for (const Descriptor& pattern : level.patterns) {
    if (fits_pattern(composite, pattern.key)) return &pattern;
  }
  const auto by_key = level.exact.find(entry.key);
  return by_key != level.exact.end() && by_key->second.takes_any_value ? &by_key->second : nullptr;
}

bool is_replaced(const Match& match, std::span<const Match> all) {
  if (match.rule == nullptr || match.rule->name.empty()) return false;
  return std::any_of(all.begin(), all.end(), [&](const Match& other) {
    if (other.rule == nullptr) return false;
    const auto& names = other.rule->replaces;
    return std::find(names.begin(), names.end(), match.rule->name) != names.end();
  });
}

}  // namespace

bool fits_pattern(std::string_view text, std::string_view pattern) {
  const std::size_t first = pattern.find('*');
  if (first == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, first))) return false;
  text.remove_prefix(first);
  pattern.remove_prefix(first + 1);
  // Each piece between two stars is taken where it stands first; the last one has to end the text.
  for (std::size_t star = pattern.find('*'); star != std::string_view::npos; star = pattern.find('*')) {
    const std::size_t found = text.find(pattern.substr(0, star));
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + star);
    pattern.remove_prefix(star + 1);
  }
  return text.ends_with(pattern);
}

const Descriptor* find_descriptor(const Level& domain, std::span<const Entry> entries, std::string& composite) {
  const Level* level = &domain;
  const Descriptor* found = nullptr;
  for (const Entry& entry : entries) {
    found = find_in(*level, entry, composite);
    if (found == nullptr) return nullptr;
    level = found->below.get();
  }
  return found;
}

Match match_one(const Level& domain, std::span<const Entry> entries, std::string& composite) {
  const Level* level = &domain;
  Match match;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Descriptor* const found = find_in(*level, entries[i], composite);
    if (found == nullptr) return {};
    if (found->is_value_open()) add_value(match.key, entries[i].value);
    if (i + 1 == entries.size()) match.rule = found->rule ? &*found->rule : nullptr;
    level = found->below.get();
  }
  if (match.rule == nullptr) return {};
  match.key = finished(std::move(match.key));
  return match;
}

std::vector<Match> match_all(const Level& domain, std::span<const DescriptorAsked> descriptors) {
  std::vector<Match> matches;
  matches.reserve(descriptors.size());
  std::string composite;
  for (const DescriptorAsked& descriptor : descriptors) {
    matches.push_back(descriptor.limit ? Match{} : match_one(domain, descriptor.entries, composite));
  }
  std::vector<bool> replaced;
  replaced.reserve(matches.size());
  for (const Match& match : matches) replaced.push_back(is_replaced(match, matches));
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (replaced[i]) matches[i] = {};
  }
  return matches;
}

Rule rule_of(std::string_view domain, std::span<const Entry> entries, const RequestedLimit& limit) {
  Rule rule{.unit = limit.unit, .requests_per_unit = limit.requests_per_unit};
  add_part(rule.path, domain);
  for (const Entry& entry : entries) {
    rule.path += '.';
    add_part(rule.path, entry.key);
  }
  rule.path.append("/").append(to_string(limit.unit));
  rule.place = "the request";
  if (limit.requests_per_unit > 0) {
    rule.limit = limit_of(own_limit_name(rule.path), limit.requests_per_unit, limit.unit);
  }
  return rule;
}

std::string key_of_all(std::span<const Entry> entries) {
  std::string key;
  for (const Entry& entry : entries) add_value(key, entry.value);
  return finished(std::move(key));
}

}  // namespace mete::server::envoy
