// Rules: the configuration of envoyproxy/ratelimit, read from its YAML, as limits of Mete.
//
//     domain: shop
//     descriptors:
//       - key: tenant                     the limit "envoy.shop.tenant", a meter for each value
//         rate_limit: {unit: minute, requests_per_unit: 600}
//         descriptors:
//           - key: path
//             value: /login               the limit "envoy.shop.tenant.path_/login", a meter for each tenant
//             rate_limit:
//               unit: minute
//               requests_per_unit: 5
//               mete: {kind: sliding}     what only Mete has: the fields of a limit
//
// A rule's limit is named by the keys that lead to it, and no two rules may make one name of different keys. Who is
// charged is told by the values that the rule leaves open; match.h finds the rule of a request. Pure: texts in, rules
// out. docs/envoy.md says what differs from the original.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wire/json.h"

namespace mete::server::envoy {

// envoy.type.v3.RateLimitUnit, as answers tell it.
enum class RateUnit : std::uint8_t { kUnknown, kSecond, kMinute, kHour, kDay, kMonth, kYear, kWeek };
std::optional<RateUnit> rate_unit_of(std::string_view name);  // in any case
std::string_view to_string(RateUnit unit);

// What a report does that comes after the fact and finds no room.
enum class OnOver : std::uint8_t {
  kRefuse,  // nothing is charged, as for any other denial
  kRecord,  // it is charged all the same, past the limit
};

// Whether the store knows a rule's limit: told by whoever has defined it, to all who use the rule.
class Defined {
 public:
  Defined() = default;
  Defined(const Defined& other) : is_(other.get()) {}
  Defined& operator=(const Defined& other) {
    set(other.get());
    return *this;
  }
  ~Defined() = default;

  [[nodiscard]] bool get() const { return is_.load(std::memory_order_acquire); }
  void set(bool is) const { is_.store(is, std::memory_order_release); }

 private:
  mutable std::atomic<bool> is_{false};
};

struct Rule {
  std::string path = {};            // "shop.tenant.path_/login"
  std::optional<Limit> limit = {};  // none: it is unlimited, or lets nobody through
  bool is_unlimited = false;
  bool is_shadow = false;
  bool is_quota = false;  // it denies only where all quota rules of a request deny
  OnOver on_over = OnOver::kRefuse;
  RateUnit unit = RateUnit::kUnknown;
  std::uint32_t requests_per_unit = 0;  // as answers tell it: at most 2^32 - 1
  std::string name = {};                // what `replaces` of other rules names
  std::vector<std::string> replaces = {};
  wire::JsonObject metadata = {};  // of requests that pass
  std::string place = {};          // "limits.yaml:12"
  Defined is_defined = {};

  // Nobody passes: requests_per_unit is 0. A shadow refuses nobody, also then.
  [[nodiscard]] bool is_blocked() const { return !limit && !is_unlimited && !is_shadow; }
};

// One level of descriptors.
struct Level;

struct Descriptor {
  std::string key;                // with its value: "path_/login", "tenant", "file_test*"
  bool takes_any_value = false;   // no value is given: the request's value tells meters apart
  bool is_pattern = false;        // the value has a *
  bool shares_threshold = false;  // all values of a pattern have one meter
  std::size_t line = 0;           // of its file
  std::optional<Rule> rule;
  std::unique_ptr<Level> below;

  [[nodiscard]] bool is_value_open() const { return takes_any_value || (is_pattern && !shares_threshold); }
};

struct Level {
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, Descriptor, Hash, std::equal_to<>> exact;
  std::vector<Descriptor> patterns;  // in the file's order
};

struct RulesFile {
  std::string name;
  std::string text;
};

class Rules {
 public:
  // Where two files have one domain, `merges_domains` puts them together; else that is an error. An error begins with
  // the file and the line.
  static Result<Rules> read(std::span<const RulesFile> files, bool merges_domains = false);

  // Null: nobody knows the domain.
  [[nodiscard]] const Level* find_domain(std::string_view domain) const;
  [[nodiscard]] const std::map<std::string, Level, std::less<>>& domains() const { return domains_; }
  // Those that have a limit.
  [[nodiscard]] std::vector<const Rule*> limited() const;
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::map<std::string, Level, std::less<>> domains_;
  std::size_t count_ = 0;
};

// The name of a rule's limit: "envoy." and the path; what is too long for a name ends in its hash.
std::string limit_name(std::string_view path);
// The same for limits that requests bring: "envoy:" and the path.
std::string own_limit_name(std::string_view path);

// How long one of the unit lasts; 30 days for a month and 365 for a year, as in the original, where there are several.
Duration length_of(RateUnit unit);

// A text of at most `bytes_max` bytes: what is cut off stands in it as its hash.
std::string shortened(std::string text, std::size_t bytes_max);

// The limit of `amount` in `unit` as the original means it, with true months and years in UTC. Charges reach the disk
// within a second, because proxies wait 20 ms for an answer.
Limit limit_of(const std::string& name, Amount amount, RateUnit unit);

}  // namespace mete::server::envoy
