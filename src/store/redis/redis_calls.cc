// Calls: how operations reach Redis, and what stands in their way.

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/redis/names.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

namespace {

// Meters in one call of a script. An operation has less: it sees all of its own at one time.
constexpr std::size_t kLookTogether = 100;
static_assert(kChargesMax <= kLookTogether);

// A meter as lua/look.lua tells it.
struct FoundValue {
  std::string text;  // empty: there is none
  wire::RespValue parts;
};

// False if the reply is not of look.lua's shape.
bool add_found(wire::RespValue& reply, std::vector<FoundValue>& found) {
  if (reply.elements.size() < 2) return false;
  const std::size_t first = found.size();
  for (wire::RespValue& value : reply.elements[1].elements) found.push_back({std::move(value.text), {}});
  for (std::size_t i = 2; i < reply.elements.size(); ++i) {
    auto& numbered = reply.elements[i].elements;
    if (numbered.size() < 2) return false;
    const auto index = static_cast<std::size_t>(numbered[0].integer) - 1;
    if (index >= found.size() - first) return false;
    found[first + index].parts = std::move(numbered[1]);
  }
  return true;
}

}  // namespace

Error RedisStore::too_busy() {
  return base::unavailable("limits are being changed too fast for this operation: try again");
}

Result<wire::RespValue> RedisStore::run_command(std::string_view routing_key,
                                                std::initializer_list<std::string_view> words) {
  Batch batch;
  batch.add(routing_key, words);
  return run(batch);
}

Result<wire::RespValue> RedisStore::run(Batch& batch) {
  Replies replies;
  link_->run(batch, replies);
  CHECK(replies.size() == 1);
  return unless_error(std::move(replies[0]), batch, 0);
}

Result<wire::RespValue> RedisStore::run_script(StoreScript which, std::span<const std::string> keys,
                                               std::span<const std::string> arguments) {
  std::vector<std::string_view> words(keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  Batch batch;
  batch.add_script(keys.empty() ? std::string_view() : keys.front(), script(which), keys.size(), words);
  return run(batch);
}

Result<RedisStore::Meters> RedisStore::merge(std::span<const Charge> charges) {
  Meters meters{.book = book(), .list = {}};
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Charge& charge = charges[i];
    const auto limit = TRY(find_limit(meters.book, charge.limit));
    if (limit == nullptr) return merge(charges);  // the book is a newer one: all of them by that
    Charged& meter = add_charge(meters.list, charge, i);
    meter.limit = limit;
    if (meter.name.empty()) meter.name = meter_key(charge.limit, charge.key);
  }
  return meters;
}

// As merge(), of charges on one limit, each for itself: for more than an operation has.
Result<RedisStore::Meters> RedisStore::list_each(std::span<const Charge> charges) {
  const std::string_view name = charges[0].limit;
  Meters meters{.book = book(), .list = {}};
  const auto found = TRY(find_limit(meters.book, name));
  const KnownLimit* const limit = found != nullptr ? found : meters.book->find(name);
  for (const Charge& charge : charges) {
    Charged& meter = meters.list.emplace_back();
    meter.limit = limit;
    meter.limit_name = name;
    meter.key = charge.key;
    meter.cost = charge.cost;
    meter.name = meter_key(name, charge.key);
  }
  return meters;
}

RedisStore::Meters RedisStore::merge_names(std::span<const Charge> charges) {
  Meters meters;
  for (std::size_t i = 0; i < charges.size(); ++i) add_charge(meters.list, charges[i], i);
  return meters;
}

RedisStore::Charged& RedisStore::add_charge(std::vector<Charged>& meters, const Charge& charge, std::size_t index) {
  const auto is_same = [&](const Charged& other) {
    return other.limit_name == charge.limit && other.key == charge.key;
  };
  auto same = std::find_if(meters.begin(), meters.end(), is_same);
  if (same == meters.end()) {
    same = meters.insert(same, Charged());
    same->limit_name = charge.limit;
    same->key = charge.key;
  }
  same->cost += charge.cost;
  CHECK(index < kChargesMax);
  same->charges |= static_cast<std::uint16_t>(1U << index);
  return *same;
}

Result<void> RedisStore::mend(const wire::RespValue& problem, const Meters& meters, std::uint64_t& window_us) {
  if (!stands_in_the_way(problem) || problem.elements.size() < 3) {
    return unexpected_reply("an answer to a script");
  }
  const std::string& what = problem.elements[0].text;
  if (what == "stale") return refresh_book();
  const auto index = static_cast<std::size_t>(problem.elements[2].integer);
  if (index < 1 || index > meters.list.size()) return unexpected_reply("an answer to a script");
  const Charged& meter = meters.list[index - 1];
  if (what == "window") {
    window_us = TRY(read_natural(element(problem, 3)));
    return {};
  }
  if (what == "large") return core::usage_too_large("cost", meter.limit->definition().name());
  if (what != "old" && what != "slot") return unexpected_reply("an answer to a script");
  // A digit that says nothing to this process may be of a revision that it has not heard of yet.
  if (what == "slot") {
    TRY(refresh_book_if_changed());
  }
  return catch_up(*meter.limit, meter.key);
}

// A meter that was written under an earlier revision of its limit is brought to the present one. Whoever is first does
// it; the others find it done.
Result<void> RedisStore::catch_up(const KnownLimit& limit, std::string_view key) {
  const auto looked = TRY(look_at({limit.definition().name(), key}));
  TRY(replace(looked));
  return {};
}

Result<RedisStore::Looked> RedisStore::look_at(const MeterName& meter) {
  const Charge charge{.limit = meter.limit, .key = meter.key, .cost = 0};
  return look({&charge, 1});
}

Result<RedisStore::Looked> RedisStore::look(std::span<const Charge> charges) {
  return look_by([&] { return merge(charges); });
}

Result<RedisStore::Looked> RedisStore::look_by(const std::function<Result<Meters>()>& find) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto meters = TRY(find());
    auto looked = look_once(std::move(meters));
    if (!looked || looked->images.back() != nullptr) return looked;
    TRY(refresh_book());
  }
  return too_busy();
}

// The last image is null if a value is of a revision that the book does not know yet. In a Cluster the meters of
// different keys lie apart, and each is read for itself.
Result<RedisStore::Looked> RedisStore::look_once(Meters meters) {
  Batch batch;
  std::vector<std::string_view> words;
  const std::size_t together = is_cluster_ ? 1 : kLookTogether;
  for (std::size_t first = 0; first < meters.list.size(); first += together) {
    const std::size_t end = std::min(first + together, meters.list.size());
    words.clear();
    for (std::size_t i = first; i < end; ++i) words.push_back(meters.list[i].name);
    words.emplace_back("meters");
    batch.add_script(words[0], script(StoreScript::kLook), end - first, words);
  }
  Replies replies;
  link_->run(batch, replies);
  Looked looked{.meters = std::move(meters), .now_us = 0, .values = {}, .images = {}};
  std::vector<FoundValue> found;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto reply = TRY(unless_error(std::move(replies[i]), batch, i));
    looked.now_us = TRY(saw(element(reply, 0)));
    if (!add_found(reply, found)) return unexpected_reply("an answer to a script");
  }
  if (found.size() != looked.meters.list.size()) return unexpected_reply("an answer to a script");
  for (std::size_t i = 0; i < looked.meters.list.size(); ++i) {
    const Charged& meter = looked.meters.list[i];
    auto image = TRY(MeterImage::found(*meter.limit, meter.key, found[i].text, found[i].parts, looked.now_us)
                         .map_error(naming(meter.name)));
    looked.images.push_back(std::move(image));
    if (looked.images.back() == nullptr) break;
    looked.images.back()->access().cost = meter.cost;
    looked.images.back()->access().charges = meter.charges;
    looked.values.push_back(std::move(found[i].text));
  }
  return looked;
}

Result<bool> RedisStore::replace(const Looked& looked) {
  const Charged& meter = looked.meters.list[0];
  MeterImage& image = *looked.images[0];
  MeterImage::Text text = image.text(*meter.limit);
  std::vector<std::string> arguments = {looked.values[0], image.parts_version(), std::move(text.value),
                                        text.until_us ? std::to_string(*text.until_us) : std::string(),
                                        session_.bounds_text()};
  for (std::string& part : text.parts) arguments.push_back(std::move(part));
  const auto reply = TRY(run_script(StoreScript::kReplace, {&meter.name, 1}, arguments));
  return reply.integer == 1;
}

std::string RedisStore::record_key(std::string_view id, std::string_view home) const {
  return is_cluster_ ? id_key_at(home, id) : id_key(id);
}

Result<std::uint64_t> RedisStore::saw(const wire::RespValue& now_us) {
  const auto micros = TRY(read_natural(now_us));
  session_.clock.raise(micros);
  return session_.clock.floor_us();
}

}  // namespace mete::store::redis
