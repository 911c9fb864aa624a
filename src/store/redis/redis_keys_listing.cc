// Walks over all keys: SCAN on one master after the other.

#include <algorithm>
#include <string>
#include <utility>

#include "base/try.h"
#include "store/redis/redis_keys.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

namespace {

constexpr std::size_t kSweepPage = 1000;

}  // namespace

Result<RedisKeys::NamePage> RedisKeys::scan_names(std::uint64_t cursor, std::size_t count) {
  const auto page = TRY(scan_masters(link_, kKeyNamePattern, cursor, std::max<std::size_t>(count, 1)));
  NamePage names{.cursor = page.cursor, .names = {}};
  for (const std::string& name : page.names) {
    if (auto parsed = parse_key_name(name)) names.names.push_back(std::move(*parsed));
  }
  return names;
}

Result<KeyPage> RedisKeys::perform(const core::ScanKeys& scan) {
  auto names = TRY(scan_names(scan.cursor, scan.count));
  const std::uint64_t epoch = session_.epoch.load(std::memory_order_relaxed);
  std::vector<std::string> keys;
  for (KeyName& name : names.names) {
    if (name.epoch == epoch) keys.push_back(std::move(name.key));
  }
  // Redis may tell a name twice.
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  Batch batch;
  for (const std::string& key : keys) add_call(batch, key, "look", {});
  Replies replies;
  if (!batch.empty()) link_.run(batch, replies);
  KeyPage page{.cursor = names.cursor, .keys = {}};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto told = TRY(told_by(batch, i, std::move(replies[i])));
    if (told.before.type != KeyType::kNone) page.keys.push_back({std::move(keys[i]), told.before.type});
  }
  return page;
}

Result<std::size_t> RedisKeys::perform(const core::CountKeys& /*count*/) {
  Batch batch;
  batch.add({}, {"DBSIZE"});
  std::size_t size = 0;
  std::size_t nodes = 1;
  for (std::size_t node = 0; node < nodes; ++node) {
    Replies replies;
    nodes = TRY(link_.run_on_node(node, batch, replies));
    const auto keys = TRY(unless_error(std::move(replies.front()), batch, 0));
    size += static_cast<std::size_t>(keys.integer);
  }
  return size;
}

Result<std::size_t> RedisKeys::unlink(const std::vector<KeyName>& names) {
  if (names.empty()) return std::size_t{0};
  Batch batch;
  for (const KeyName& name : names) {
    const std::string text = key_name(name.key, name.epoch);
    batch.add(text, {"UNLINK", text});
  }
  Replies replies;
  link_.run(batch, replies);
  std::size_t removed = 0;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const auto count = TRY(unless_error(std::move(replies[i]), batch, i));
    removed += static_cast<std::size_t>(count.integer);
  }
  return removed;
}

Result<std::size_t> RedisKeys::sweep() {
  // Epochs only grow: what is earlier now is so for everybody, and for ever.
  const std::uint64_t epoch = session_.epoch.load(std::memory_order_relaxed);
  std::size_t removed = 0;
  std::uint64_t cursor = 0;
  do {
    auto page = TRY(scan_names(cursor, kSweepPage));
    std::erase_if(page.names, [&](const KeyName& name) { return name.epoch >= epoch; });
    const auto count = TRY(unlink(page.names));
    removed += count;
    cursor = page.cursor;
  } while (cursor != 0);
  return removed;
}

}  // namespace mete::store::redis
