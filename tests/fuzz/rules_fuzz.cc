// Any text as rules of envoyproxy/ratelimit: they are read or refused, a refusal is one line that begins with the file,
// and what was read makes limits that can be defined and finds its own descriptors.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "core/validate.h"
#include "server/envoy/match.h"
#include "server/envoy/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mete::server::envoy;
  const std::vector<RulesFile> files = {{"rules.yaml", std::string(reinterpret_cast<const char*>(data), size)}};
  const auto rules = Rules::read(files);
  if (!rules) {
    const std::string_view message = rules.error().message;
    CHECK(message.starts_with("rules.yaml:"));
    CHECK(message.find('\n') == std::string_view::npos);
    return 0;
  }
  for (const Rule* const rule : rules->limited()) CHECK(mete::core::validate_limit(*rule->limit).has_value());
  std::string composite;
  for (const auto& [domain, level] : rules->domains()) {
    for (const auto& [key, descriptor] : level.exact) {
      if (!descriptor.takes_any_value) continue;
      const std::vector<Entry> entries = {{key, "any"}};
      const Match match = match_one(level, entries, composite);
      CHECK(match.rule == nullptr || mete::core::validate_key(match.key).has_value());
    }
  }
  return 0;
}
