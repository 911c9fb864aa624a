// What others may write over the records that Mete keeps in Redis: each field of each record in turn is set to text, a
// negative number, 2^64, nothing and 1 MB, and each record to another type of Redis. Every operation then goes on, or
// ends with an error that names the record; nothing is admitted that did not fit before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <vector>

#include "store/keys.h"
#include "store/redis/names.h"
#include "store/redis/redis_store.h"
#include "support/long_form.h"
#include "support/redis_client.h"
#include "support/redis_server.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;

const std::string kOneMegabyte(1 << 20, 'x');
const std::string kBadValues[] = {"text", "-5", "18446744073709551616", "", kOneMegabyte};
constexpr std::size_t kMessageBytesMax = 1000;

// Lua that replaces one leaf of a record of the packed ones, by its number; false behind the last.
constexpr std::string_view kReplaceLeaf = R"(
  local left = tonumber(ARGV[1])
  local function replace(value)
    if type(value) ~= 'table' then
      left = left - 1
      return left == -1 and ARGV[2] or value
    end
    local keys = {}
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do value[key] = replace(value[key]) end
    return value
  end
  local record = replace(cmsgpack.unpack(redis.call('GET', KEYS[1])))
  if left >= 0 then return 0 end
  redis.call('SET', KEYS[1], cmsgpack.pack(record))
  return 1
)";
// All records between this database and the one where they are kept as they were.
constexpr std::string_view kCopyAll = R"(
  redis.call('SELECT', ARGV[2])
  redis.call('FLUSHDB')
  redis.call('SELECT', ARGV[1])
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', ARGV[2]) end
  return 1
)";

class ForeignDataTest : public ::testing::Test {
 protected:
  ForeignDataTest() {
    for (const std::string& limit : limits_) fill(limit);
    Keys keys = store_->keys();
    keys.set({.key = "hits", .value = 5, .expiry = Expiry::in(24h)}).value();
    const QuotaRule quota{.amount = 3, .window = 86400s};
    EXPECT_EQ(keys.quota_take("quota", quota, 3).value(), 0);
    EXPECT_TRUE(keys.throttle("throttle", {3, 3, 24h, 3}).value().is_allowed);
    store_->define(stock("other").amount(1'000'000)).value();
    call({"EVAL", kCopyAll, "0", "0", "1"});
  }

  // Nothing fits on any key afterwards: of alice's 10 a part is held, bob has an amount of his own, carol's are used.
  void fill(const std::string& limit) {
    const auto charge = [&](std::string_view key, Amount cost) { return Charge{limit, key, cost}; };
    const Duration period = 1000 * 24h;
    const Limit definition = limit == "bucket"     ? bucket(limit).amount(10).per(period)
                             : limit == "window"   ? window(limit).amount(10).per(period)
                             : limit == "sliding"  ? sliding(limit).amount(10).per(period)
                             : limit == "calendar" ? calendar(limit).amount(10).per(Unit::kYear).zone("Europe/Berlin")
                                                   : stock(limit).amount(10);
    store_->define(definition).value();
    store_->set_override({limit, "bob"}, 3).value();
    for (const Charge& each : {charge("alice", 6), charge("bob", 3), charge("carol", 10)}) {
      EXPECT_TRUE(store_->take({.charges = {&each, 1}, .id = "op " + limit + std::string(each.key)})->is_allowed);
    }
    const Charge held = charge("alice", 4);
    EXPECT_TRUE(store_->hold({.charges = {&held, 1}, .ttl = 24h, .id = "hold " + limit, .tag = "tag"})->is_allowed);
  }

  std::vector<std::string> bad_values() { return support::cases_in_turn(kBadValues, 2, turn_); }

  wire::RespValue call(std::initializer_list<std::string_view> words) { return client_.call(words); }
  void restore() { call({"EVAL", kCopyAll, "0", "1", "0"}); }

  // Runs what a user may do about a limit; counts errors, and checks them.
  struct Seen {
    std::string record;  // as errors have to name it
    std::size_t errors = 0;
    std::size_t admitted = 0;
  };
  template <class Answer>
  void look_at(const Result<Answer>& answer, Seen& seen) {
    if (!answer.has_value()) {
      const Error& error = answer.error();
      if (error.code != ErrorCode::kUnavailable) return;
      ++seen.errors;
      EXPECT_NE(error.message.find(seen.record), std::string::npos) << error.message.substr(0, 300);
      EXPECT_LT(error.message.size(), kMessageBytesMax);
    } else if constexpr (std::is_same_v<Answer, core::Verdict>) {
      if (answer->is_allowed) ++seen.admitted;
    }
  }

  void try_limit(Store& store, const std::string& limit, Seen& seen) {
    for (const std::string_view key : {"alice", "bob", "carol"}) {
      const Charge one[] = {{limit, key, 1}};
      const Charge two[] = {{limit, key, 1}, {"other", key, 1}};
      look_at(store.take({.charges = one}), seen);
      look_at(store.take({.charges = one, .mode = Mode::kPeek}), seen);
      look_at(store.take({.charges = one, .mode = Mode::kUpTo}), seen);
      look_at(store.take({.charges = one, .id = "new"}), seen);
      look_at(store.take({.charges = two}), seen);
      look_at(store.hold({.charges = one, .ttl = 1h, .id = "new hold"}), seen);
      look_at(store.hold({.charges = one, .ttl = 1h, .id = "tagged", .tag = "tag"}), seen);
      std::vector<Result<core::Verdict>> answers(2);
      store.take_each(two, answers);
      look_at(answers[0], seen);
      EXPECT_EQ(seen.admitted, 0U) << key;
      look_at(store.usage({limit, key}), seen);
      look_at(store.run(core::ListHolds{{limit, key}, 10}), seen);
      look_at(store.run(core::FindOverride{{limit, key}}), seen);
      seen.admitted = 0;
    }
    look_at(store.run(core::ScanUsage{limit, 0, 100}), seen);
    look_at(store.run(core::ListTagged{"tag"}), seen);
    look_at(store.run(core::OldestHolds{10}), seen);
    look_at(store.run(core::FindHold{"hold " + limit}), seen);
    look_at(store.run(core::FindLimit{limit}), seen);
    look_at(store.run(core::ListLimits{}), seen);
    const Charge alice[] = {{limit, "alice", 6}};
    look_at(store.take({.charges = alice, .id = "op " + limit + "alice"}), seen);
    const Charge held[] = {{limit, "alice", 4}};
    look_at(store.hold({.charges = held, .ttl = 24h, .id = "hold " + limit, .tag = "tag"}), seen);
    // From here on something may be free again.
    look_at(store.run(core::Extend{"hold " + limit, 48h}), seen);
    look_at(store.run(core::Commit{"hold " + limit}), seen);
    look_at(store.run(core::Cancel{"hold " + limit}), seen);
    for (const std::string_view key : {"alice", "bob", "carol"}) {
      const Charge one[] = {{limit, key, 1}};
      look_at(store.give(one, ""), seen);
      look_at(store.give(one, "gift"), seen);
      look_at(store.run(core::Reconcile{{limit, key}, 5}), seen);
      look_at(store.set_override({limit, key}, 4), seen);
    }
    Shift shifts[] = {{"alice", 1}, {"carol", -1}};
    std::vector<Result<Shifted>> shifted(2);
    look_at(store.run(core::ShiftUsage{limit, {}, shifts, shifted}), seen);
    for (const auto& each : shifted) look_at(each, seen);
    if (&store != store_.get()) {
      look_at(store.define(stock(limit).amount(20)), seen);
      look_at(store.drop(limit), seen);
    }
    seen.admitted = 0;
  }

  void try_keys(Store& store, const std::string& key, Seen& seen) {
    Keys keys = store.keys();
    look_at(keys.get(key), seen);
    look_at(keys.add(key, 1), seen);
    look_at(keys.add_bounded({.key = key, .by = 1}), seen);
    look_at(keys.quota_get(key), seen);
    if (key == "quota") {
      const auto left = keys.quota_take(key, {3, 86400s}, 1);
      EXPECT_EQ(left.value_or(-1), -1);
      look_at(left, seen);
    }
    if (key == "throttle") look_at(keys.throttle(key, {3, 3, 24h, 1}), seen);
    EXPECT_EQ(seen.admitted, 0U);
    look_at(keys.type(key), seen);
    look_at(keys.expires_at(key), seen);
    look_at(keys.expire(key, Expiry::in(1h)), seen);
    look_at(keys.persist(key), seen);
    look_at(keys.scan(0, 100), seen);
    look_at(keys.quota_set(key, {4, 60s}), seen);
    look_at(keys.set({.key = key, .value = 1}), seen);
    look_at(keys.take_out(key), seen);
    look_at(keys.remove(key), seen);
  }

  // After a change of a record: everything that uses it, and once more from the beginning.
  void try_all(const std::string& record, const std::string& limit, std::string_view what, const std::string& bad) {
    SCOPED_TRACE(record + ", " + std::string(what) + " set to '" + bad.substr(0, 30) + "'");
    call({"HINCRBY", kLimitsKey, kGenerationField, std::to_string(++changes_ * 1000)});
    Seen seen{.record = record == kLimitsKey ? limit : record};
    {
      // Another one each time, which is gone with its background thread before all is as it was: that thread goes on
      // for a while about definitions that were changed. Where none can be opened, one that was there already goes on.
      auto opened = RedisStore::open(server_.patient_url(), {});
      if (!opened.has_value()) look_at(Result<void>(opened.error()), seen);
      Store& store = opened.has_value() ? **opened : *store_;
      if (const auto key = parse_key_name(record)) {
        try_keys(store, key->key, seen);
      } else {
        for (const std::string& each : limits_) {
          if (limit.empty() || each == limit) try_limit(store, each, seen);
        }
      }
    }
    // What an operation was answered, and a counter, may be many things.
    const bool may_be_so = record.starts_with("mete.id:") || record.starts_with("mete.key:");
    EXPECT_TRUE(may_be_so || seen.errors > 0) << "nobody has noticed";
    restore();
    call({"HINCRBY", kLimitsKey, kGenerationField, std::to_string(++changes_ * 1000)});
    EXPECT_TRUE(store_->limits().has_value());
  }

  // The numbers and words of a text, one after the other.
  static std::vector<std::pair<std::size_t, std::size_t>> words_of(const std::string& text) {
    std::vector<std::pair<std::size_t, std::size_t>> words = {{0, text.size()}};
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t begin = i;
      while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '/')) ++i;
      if (i > begin && i - begin < text.size()) words.emplace_back(begin, i - begin);
      if (i == begin) ++i;
    }
    return words;
  }

  std::string limit_of(const std::string& record) {
    for (const std::string& limit : limits_) {
      if (record.ends_with(":" + limit) || record.find(limit) != std::string::npos) return limit;
    }
    return {};
  }

  std::uint64_t changes_ = 0;
  std::size_t turn_ = support::first_turn();
  const std::vector<std::string> limits_ = {"bucket", "window", "sliding", "calendar", "stock"};
  support::RedisServer& server_ = support::shared_redis();
  support::RedisClient client_{server_.port()};
  std::unique_ptr<Store> store_ = RedisStore::open(server_.patient_url(), {}).value();
};

TEST_F(ForeignDataTest, ARecordThatIsText) {
  for (const wire::RespValue& key : call({"KEYS", "mete*"}).elements) {
    const std::string& name = key.text;
    if (call({"TYPE", name}).text != "string" || name.starts_with("mete.id:")) continue;
    const std::string text = call({"GET", name}).text;
    const std::string limit = name.starts_with("mete.key:") ? std::string() : limit_of(name);
    for (const auto& [begin, size] : words_of(text)) {
      for (const std::string& bad : bad_values()) {
        std::string changed = text;
        changed.replace(begin, size, bad);
        call({"SET", name, changed});
        try_all(name, limit, text.substr(begin, size), bad);
      }
    }
  }
}

TEST_F(ForeignDataTest, AFieldOfAHash) {
  for (const wire::RespValue& key : call({"KEYS", "mete*"}).elements) {
    const std::string& name = key.text;
    if (call({"TYPE", name}).text != "hash") continue;
    const auto fields = call({"HGETALL", name}).elements;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
      const std::string& field = fields[i].text;
      if (field == kGenerationField) continue;
      const std::string limit = limit_of(name == kLimitsKey ? field : name);
      for (const auto& [begin, size] : words_of(fields[i + 1].text)) {
        for (const std::string& bad : bad_values()) {
          std::string changed = fields[i + 1].text;
          changed.replace(begin, size, bad);
          call({"HSET", name, field, changed});
          try_all(name, limit, field + " " + fields[i + 1].text.substr(begin, size), bad);
        }
      }
    }
  }
}

TEST_F(ForeignDataTest, AFieldOfAnOperationsRecord) {
  for (const std::string& limit : limits_) {
    for (const std::string& id : {"op " + limit + "alice", "hold " + limit}) {
      const std::string name = id_key(id);
      bool is_there = true;
      for (int leaf = 0; is_there; ++leaf) {
        for (const std::string& bad : bad_values()) {
          is_there = call({"EVAL", kReplaceLeaf, "1", name, std::to_string(leaf), bad}).integer == 1;
          if (!is_there) break;
          try_all(name, limit, "leaf " + std::to_string(leaf), bad);
        }
      }
    }
  }
}

TEST_F(ForeignDataTest, ARecordOfAnotherType) {
  for (const wire::RespValue& key : call({"KEYS", "mete*"}).elements) {
    const std::string& name = key.text;
    call({"DEL", name});
    call({"RPUSH", name, "a list"});
    const std::string limit = name.starts_with("mete.key:") ? std::string() : limit_of(name);
    try_all(name, limit, "all", "a list");
  }
}

}  // namespace
}  // namespace mete::store::redis
