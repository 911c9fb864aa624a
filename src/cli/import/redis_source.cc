#include "cli/import/redis_source.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/client/link.h"
#include "store/redis/replies.h"

namespace mete::cli {

namespace {

using store::redis::Batch;
using store::redis::Replies;

// How many places of its table Redis looks at in one step: some tenths of a millisecond of its time.
constexpr std::uint64_t kScanCount = 1000;

}  // namespace

RedisSource::RedisSource(std::unique_ptr<store::redis::Link> link) : link_(std::move(link)) {}
RedisSource::RedisSource(RedisSource&&) noexcept = default;
RedisSource::~RedisSource() = default;

Result<RedisSource> RedisSource::open(const std::string& url) {
  auto link = TRY(store::redis::open_link(url));
  return RedisSource(std::move(link));
}

Result<void> RedisSource::read_pairs(const PairPatterns& patterns, const OnFindings& on_findings) {
  const bool has_both = patterns.used && patterns.amount;
  TRY(expect_walks(has_both ? 2 : 1));
  for (const auto& pattern : {patterns.used, patterns.amount}) {
    if (!pattern) continue;
    TRY(walk(*pattern, [&](const Names& names) -> Result<void> {
      Findings findings;
      TRY(add_pairs(names, *pattern, patterns, findings));
      return on_findings(findings);
    }));
  }
  return {};
}

Result<void> RedisSource::add_pairs(const Names& names, const KeyPattern& pattern, const PairPatterns& patterns,
                                    Findings& findings) {
  std::vector<StoredPair> pairs;
  Names asked;
  for (const std::string& name : names) {
    const auto parts = pattern.match(name);
    if (!parts) continue;
    StoredPair& pair = pairs.emplace_back(StoredPair{.key = parts->front(), .used = {}, .amount = {}});
    if (patterns.used) pair.used = StoredPart{patterns.used->name_with(pair.key), {}};
    if (patterns.amount) pair.amount = StoredPart{patterns.amount->name_with(pair.key), {}};
    // Side by side, so that both are of the same moment as nearly as can be.
    if (pair.used) asked.push_back(pair.used->name);
    if (pair.amount) asked.push_back(pair.amount->name);
  }
  const auto replies = TRY(get(asked));
  const bool is_second_walk = patterns.used && patterns.used->text() != pattern.text();
  auto reply = replies.begin();
  for (StoredPair& pair : pairs) {
    if (pair.used) pair.used->value = read_amount(*reply++, 0);
    if (pair.amount) pair.amount->value = read_amount(*reply++, 1);
    const bool was_named_before = is_second_walk && !(pair.used->value.has_value() && !*pair.used->value);
    if (!was_named_before) add_pair(pair, findings);
  }
  return {};
}

Result<void> RedisSource::read_months(const KeyPattern& pattern, Month current, const OnFindings& on_findings) {
  TRY(expect_walks(1));
  return walk(pattern, [&](const Names& names) -> Result<void> {
    Findings findings;
    std::vector<StoredPair> pairs;
    Names asked;
    for (const std::string& name : names) {
      const auto parts = pattern.match(name);
      if (!parts || !is_of_month({name, parts->front(), parts->back()}, current, findings)) continue;
      pairs.push_back({.key = parts->front(), .used = StoredPart{name, {}}, .amount = {}});
      asked.push_back(name);
    }
    const auto replies = TRY(get(asked));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs[i].used->value = read_amount(replies[i], 0);
      add_pair(pairs[i], findings);
    }
    return on_findings(findings);
  });
}

// Redis's table has as many places as the next power of two above its keys, if it has not shrunk lately.
Result<void> RedisSource::expect_walks(std::uint64_t walks) {
  progress_ = {};
  Batch batch;
  batch.add({}, {"DBSIZE"});
  std::size_t nodes = 1;
  for (std::size_t node = 0; node < nodes; ++node) {
    Replies replies;
    nodes = TRY(link_->run_on_node(node, batch, replies));
    const auto keys = TRY(store::redis::unless_error(std::move(replies.front()), batch, 0));
    progress_.total += std::bit_ceil(static_cast<std::uint64_t>(keys.integer)) * walks;
  }
  return {};
}

Result<void> RedisSource::walk(const KeyPattern& pattern, const OnNames& on_names) {
  const std::string glob = pattern.glob();
  std::size_t nodes = 1;
  for (std::size_t node = 0; node < nodes; ++node) {
    nodes = TRY(walk_node(node, glob, on_names));
  }
  return {};
}

// Tells how many nodes there are.
Result<std::size_t> RedisSource::walk_node(std::size_t node, const std::string& glob, const OnNames& on_names) {
  std::string cursor = "0";
  for (;;) {
    Batch batch;
    batch.add({}, {"SCAN", cursor, "MATCH", glob, "COUNT", std::to_string(kScanCount)});
    Replies replies;
    auto nodes = TRY(link_->run_on_node(node, batch, replies));
    const auto page = TRY(store::redis::unless_error(std::move(replies.front()), batch, 0));
    if (page.elements.size() != 2) {
      return base::invalid("it answers to SCAN what Redis does not: is it a Redis?");
    }
    Names names;
    for (const wire::RespValue& name : page.elements[1].elements) names.push_back(name.text);
    // Redis may tell a name twice.
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    TRY(on_names(names));
    progress_.done += kScanCount;
    cursor = page.elements[0].text;
    if (cursor == "0") return nodes;
  }
}

// One by one, and sent together: MGET would not tell what is no string, and not work across the nodes of a Cluster.
Result<std::vector<wire::RespValue>> RedisSource::get(const Names& names) {
  Batch batch;
  for (const std::string& name : names) batch.add(name, {"GET", name});
  Replies replies;
  link_->run(batch, replies);
  std::vector<wire::RespValue> values;
  values.reserve(names.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto& reply = replies[i];
    const bool is_other_type = reply && reply->is_error() && reply->text.starts_with("WRONGTYPE");
    auto value = TRY(is_other_type ? std::move(reply) : store::redis::unless_error(std::move(reply), batch, i));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace mete::cli
