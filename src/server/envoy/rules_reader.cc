// How Rules are read. Every mistake is an error with its place, as the original refuses such a file; what it takes in
// silence, and nobody meant, is an error too where nothing that works there can have it.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/errors.h"
#include "base/suggest.h"
#include "base/try.h"
#include "core/validate.h"
#include "server/envoy/rules.h"
#include "server/envoy/yaml.h"
#include "server/limits/limit_fields.h"
#include "wire/text.h"

namespace mete::server::envoy {

namespace {

constexpr std::array<std::string_view, 17> kKnownKeys = {"domain",
                                                         "key",
                                                         "value",
                                                         "descriptors",
                                                         "rate_limit",
                                                         "unit",
                                                         "requests_per_unit",
                                                         "unlimited",
                                                         "shadow_mode",
                                                         "quota_mode",
                                                         "name",
                                                         "replaces",
                                                         "detailed_metric",
                                                         "value_to_metric",
                                                         "metadata",
                                                         "mete",
                                                         "share_threshold"};

class Reader {
 public:
  Reader(const RulesFile& file, std::size_t& count) : file_(file), count_(count) {}

  // The domain, and the descriptors with it.
  Result<void> read(std::map<std::string, Level, std::less<>>& domains, bool merges_domains) {
    auto root = read_yaml(file_.text);
    if (!root) return base::invalid(file_.name + ": " + root.error().message);
    if (!root->is_map()) return error(*root, "a file is a map with domain and descriptors");
    TRY(check_keys(*root));
    const std::string domain = TRY(text_of(*root, "domain"));
    if (domain.empty()) return error(*root, "domain is empty");
    const auto [place, is_new] = domains.try_emplace(domain);
    if (!is_new && !merges_domains) return error(*root, "another file has the domain " + wire::quote(domain));
    return read_level(*root, domain, place->second);
  }

 private:
  [[nodiscard]] std::string place_of(const YamlNode& node) const {
    return file_.name + ":" + std::to_string(node.line);
  }
  [[nodiscard]] Error error(const YamlNode& node, const std::string& words) const {
    return base::invalid_at(place_of(node), words);
  }

  static const YamlNode* find(const YamlNode& map, std::string_view key) {
    const auto found = std::find_if(map.entries.begin(), map.entries.end(),
                                    [&](const YamlEntry& entry) { return entry.key.text == key; });
    return found == map.entries.end() || found->value.is_nothing() ? nullptr : &found->value;
  }

  // Keys are checked wherever they stand, and before what they mean: a word that nobody knows is a mistake of typing.
  // What stands in `metadata` and in `mete` has words of its own.
  Result<void> check_keys(const YamlNode& map) const {
    for (const auto& [key, value] : map.entries) {
      if (!key.is_text()) return error(key, "a key must be a text, not " + (key.text.empty() ? "a map" : key.text));
      if (std::find(kKnownKeys.begin(), kKnownKeys.end(), key.text) == kKnownKeys.end()) {
        static const std::vector<std::string> kWords(kKnownKeys.begin(), kKnownKeys.end());
        return error(key, "unknown key " + wire::quote(key.text) + base::did_you_mean(key.text, kWords));
      }
      if (key.text == "metadata" || key.text == "mete") continue;
      if (value.is_map()) TRY(check_keys(value));
      for (const YamlNode& item : value.items) {
        if (!item.is_map()) return error(item, wire::quote(key.text) + " is a list of maps");
        TRY(check_keys(item));
      }
    }
    return {};
  }

  // Empty where there is none.
  Result<std::string> text_of(const YamlNode& map, std::string_view key) const {
    const YamlNode* const value = find(map, key);
    if (value == nullptr) return std::string();
    if (!value->is_scalar()) return error(*value, std::string(key) + " must be a text");
    return value->text;
  }
  Result<bool> truth_of(const YamlNode& map, std::string_view key) const {
    const YamlNode* const value = find(map, key);
    if (value == nullptr) return false;
    const auto is = [&](std::string_view name) { return wire::equals_ignoring_case(value->text, name); };
    if (value->is_scalar() && value->is_plain) {
      if (is("true") || is("yes") || is("on")) return true;
      if (is("false") || is("no") || is("off")) return false;
    }
    return error(*value, std::string(key) + " must be true or false");
  }
  Result<std::int64_t> number_of(const YamlNode& map, std::string_view key, std::int64_t least, std::int64_t most,
                                 std::int64_t otherwise) const {
    const YamlNode* const value = find(map, key);
    if (value == nullptr) return otherwise;
    const auto number = value->is_scalar() && value->is_plain ? wire::parse_integer(value->text) : std::nullopt;
    if (number && *number >= least && *number <= most) return *number;
    return error(
        *value, std::string(key) + " must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
  }

  Result<void> read_level(const YamlNode& parent, const std::string& path, Level& level) {
    const YamlNode* const list = find(parent, "descriptors");
    if (list == nullptr) return {};
    if (!list->is_list()) return error(*list, "descriptors must be a list");
    for (const YamlNode& each : list->items) TRY(read_descriptor(each, path, level));
    return {};
  }

  Result<void> read_descriptor(const YamlNode& node, const std::string& parent_path, Level& level) {
    Descriptor made;
    const std::string key = TRY(text_of(node, "key"));
    const std::string value = TRY(text_of(node, "value"));
    if (key.empty()) return error(node, "a descriptor has no key");
    made.line = node.line;
    made.key = value.empty() ? key : key + "_" + value;
    made.takes_any_value = value.empty();
    made.is_pattern = value.find('*') != std::string::npos;
    made.shares_threshold = TRY(truth_of(node, "share_threshold"));
    if (made.shares_threshold && !made.is_pattern) {
      return error(node, "share_threshold is for a value with a *: the values of " + wire::quote(made.key) +
                             " have one meter already");
    }
    const std::string path = parent_path + "." + made.key;
    if (has(level, made.key)) return error(node, "the descriptor " + wire::quote(path) + " is there twice");
    if (const YamlNode* const limit = find(node, "rate_limit")) made.rule = TRY(read_rule(node, *limit, path));
    made.below = std::make_unique<Level>();
    TRY(read_level(node, path, *made.below));
    if (made.is_pattern) {
      level.patterns.push_back(std::move(made));
    } else {
      std::string name = made.key;
      level.exact.emplace(std::move(name), std::move(made));
    }
    return {};
  }

  static bool has(const Level& level, std::string_view key) {
    return level.exact.find(key) != level.exact.end() ||
           std::any_of(level.patterns.begin(), level.patterns.end(),
                       [&](const Descriptor& each) { return each.key == key; });
  }

  Result<Rule> read_rule(const YamlNode& descriptor, const YamlNode& node, const std::string& path) {
    if (!node.is_map()) return error(node, "rate_limit must be a map");
    Rule rule{.path = path, .place = place_of(descriptor)};
    rule.is_shadow = TRY(truth_of(descriptor, "shadow_mode"));
    rule.is_quota = TRY(truth_of(descriptor, "quota_mode"));
    if (const YamlNode* const metadata = find(descriptor, "metadata")) {
      if (!metadata->is_map()) return error(*metadata, "metadata must be a map");
      rule.metadata = std::get<wire::JsonObject>(json_of(*metadata).value);
    }
    rule.is_unlimited = TRY(truth_of(node, "unlimited"));
    TRY(read_replaces(node, rule));
    TRY(read_limit(node, rule));
    ++count_;
    return rule;
  }

  Result<void> read_replaces(const YamlNode& node, Rule& rule) const {
    rule.name = TRY(text_of(node, "name"));
    const YamlNode* const list = find(node, "replaces");
    if (list == nullptr) return {};
    if (!list->is_list()) return error(*list, "replaces must be a list");
    for (const YamlNode& each : list->items) {
      std::string name = TRY(text_of(each, "name"));
      if (name.empty()) return error(each, "replaces: a name is empty");
      if (name == rule.name) return error(each, "replaces: the rule itself has the name " + wire::quote(name));
      rule.replaces.push_back(std::move(name));
    }
    return {};
  }

  Result<void> read_limit(const YamlNode& node, Rule& rule) const {
    const YamlNode* const own = find(node, "mete");
    const std::string unit_name = TRY(text_of(node, "unit"));
    const auto unit = rate_unit_of(unit_name);
    if (rule.is_unlimited) {
      if (unit) return error(node, "unit: a rule that is unlimited has none");
      return own == nullptr ? Result<void>() : error(*own, "mete: a rule that is unlimited has no limit");
    }
    if (!unit && (own == nullptr || !unit_name.empty())) {
      return error(node, "unit must be second, minute, hour, day, week, month or year, not " + wire::quote(unit_name));
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t amount = TRY(number_of(node, "requests_per_unit", 0, kMost, 0));
    rule.unit = unit.value_or(RateUnit::kUnknown);
    rule.requests_per_unit = static_cast<std::uint32_t>(amount);
    if (amount == 0 && own == nullptr) return {};  // nobody passes
    auto limit = own == nullptr ? limit_of(limit_name(rule.path), amount, rule.unit)
                                : TRY(read_own(*own, {amount, rule.unit}, rule));
    limit.shadow(rule.is_shadow);
    if (const auto valid = core::validate_limit(limit); !valid) return error(node, valid.error().message);
    rule.limit = std::move(limit);
    return {};
  }

  struct Plain {
    Amount amount = 0;
    RateUnit unit = RateUnit::kUnknown;
  };

  // The fields of a limit; those that are not said come from `unit` and `requests_per_unit`.
  Result<Limit> read_own(const YamlNode& own, const Plain& plain, Rule& rule) const {
    if (!own.is_map()) return error(own, "mete must be a map of a limit's fields");
    wire::NamedValues values;
    for (const auto& [key, value] : own.entries) {
      if (!value.is_scalar()) return error(value, wire::quote(key.text) + " must not be a list or a map");
      if (key.text == "on_over") {
        if (value.text != "refuse" && value.text != "record") return error(value, "on_over must be refuse or record");
        rule.on_over = value.text == "record" ? OnOver::kRecord : OnOver::kRefuse;
      } else {
        values.push_back({key.text, scalar_of(value)});
      }
    }
    add_plain(plain, values);
    auto made = make_limit(limit_name(rule.path), values);
    if (!made) return error(own, "mete: " + made.error().message);
    constexpr Amount kMost = std::numeric_limits<std::uint32_t>::max();
    rule.requests_per_unit = static_cast<std::uint32_t>(std::min(made->amount(), kMost));
    return made;
  }

  static void add_plain(const Plain& plain, wire::NamedValues& values) {
    const auto said = [&](std::string_view name) -> const wire::Scalar* {
      const auto found =
          std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.name == name; });
      return found == values.end() ? nullptr : &found->value;
    };
    if (said("kind") == nullptr) {
      values.push_back({"kind", std::string(mete::to_string(limit_of("-", 1, plain.unit).kind()))});
    }
    const wire::Scalar kind = *said("kind");
    if (said("amount") == nullptr && plain.amount > 0) values.push_back({"amount", plain.amount});
    if (said("durable") == nullptr) values.push_back({"durable", std::string("everysec")});
    if (said("period") != nullptr || plain.unit == RateUnit::kUnknown || kind == wire::Scalar(std::string("stock")))
      return;
    if (kind == wire::Scalar(std::string("calendar"))) {
      const auto unit = limit_of("-", 1, plain.unit).unit();
      if (unit) values.push_back({"period", std::string(mete::to_string(*unit))});
    } else {
      values.push_back({"period", length_of(plain.unit).seconds()});
    }
  }

  static wire::Scalar scalar_of(const YamlNode& value) {
    if (!value.is_plain) return value.text;
    if (const auto number = wire::parse_integer(value.text)) return *number;
    if (wire::equals_ignoring_case(value.text, "true")) return true;
    if (wire::equals_ignoring_case(value.text, "false")) return false;
    return value.text;
  }

  static wire::JsonValue json_of(const YamlNode& node) {
    if (node.is_map()) {
      wire::JsonObject object;
      for (const auto& [key, value] : node.entries) object.push_back({key.text, json_of(value)});
      return {std::move(object)};
    }
    if (node.is_list()) {
      wire::JsonArray array;
      for (const YamlNode& item : node.items) array.push_back(json_of(item));
      return {std::move(array)};
    }
    if (node.is_nothing()) return {wire::JsonNull{}};
    return std::visit([](auto&& scalar) { return wire::JsonValue{scalar}; }, scalar_of(node));
  }

  const RulesFile& file_;
  std::size_t& count_;
};

// The domain "shop.x" with the key "y" reads as "shop" with "x.y" does.
Result<void> check_names(std::span<const Rule* const> rules) {
  std::unordered_map<std::string_view, const Rule*> by_name;
  for (const Rule* const rule : rules) {
    const auto [found, is_new] = by_name.try_emplace(rule->limit->name(), rule);
    if (is_new) continue;
    return base::invalid_at(rule->place, "this rule's limit would have the name of the one at " + found->second->place +
                                             ", " + wire::quote(rule->limit->name()) +
                                             ": their domains and keys read the same when joined by dots");
  }
  return {};
}

}  // namespace

Result<Rules> Rules::read(std::span<const RulesFile> files, bool merges_domains) {
  Rules rules;
  for (const RulesFile& file : files) TRY(Reader(file, rules.count_).read(rules.domains_, merges_domains));
  TRY(check_names(rules.limited()));
  return rules;
}

}  // namespace mete::server::envoy
