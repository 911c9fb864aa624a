// Operations in a Cluster. Everything of one key lies on one node, so an operation on one key is one script there, as
// on a single server. What concerns several keys is done node by node:
//
//     take    every part is held for a moment; if one does not fit, the others are cancelled; else all are committed
//     hold    the same, with parts that stay held; commit, cancel and extend go to each part
//
// Nothing is ever over a limit. What another reader may see: parts that are held for a moment although the operation is
// denied in the end, and, while it is being committed, some of them committed and some still held. A process that dies
// on the way leaves parts that expire by themselves. An id has a locator, on the node of the id: which keys its
// operation is on, and the answer where that is of several nodes.

#include <algorithm>

#include "base/random.h"
#include "core/refusals.h"
#include "engine/admission.h"
#include "store/redis/names.h"
#include "store/redis/redis_hold.h"
#include "store/redis/replies.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

// How long the parts of a take may be held before they are committed.
constexpr Duration kMoment = std::chrono::seconds(10);

std::string text_of(const core::Verdict& verdict) {
  std::string text;
  for (const std::int64_t number :
       {std::int64_t{verdict.is_allowed}, std::int64_t{verdict.violated}, verdict.taken, verdict.remaining,
        verdict.limit, verdict.retry_after.ns(), verdict.reset_after.ns()}) {
    text += (text.empty() ? "" : " ") + std::to_string(number);
  }
  return text;
}

std::optional<core::Verdict> parse_verdict(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    numbers.push_back(std::stoll(text.substr(at), &length));
    at += length;
  }
  if (numbers.size() != 7) return std::nullopt;
  return core::Verdict{.is_allowed = numbers[0] == 1,
                       .violated = static_cast<std::uint16_t>(numbers[1]),
                       .taken = numbers[2],
                       .remaining = numbers[3],
                       .limit = numbers[4],
                       .retry_after = Duration::from_ns(numbers[5]),
                       .reset_after = Duration::from_ns(numbers[6])};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char byte : text) {
    if (byte == separator) {
      parts.emplace_back();
    } else {
      parts.back() += byte;
    }
  }
  return parts;
}

}  // namespace

// The charges on one key.
struct RedisStore::Group {
  std::string_view key;
  std::vector<Charge> charges;
  std::vector<std::size_t> indexes;  // in the operation

  // The operation's bits of these charges' bits.
  [[nodiscard]] std::uint16_t widen(std::uint16_t bits) const {
    std::uint16_t wide = 0;
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      if ((unsigned{bits} >> i & 1U) != 0) wide |= static_cast<std::uint16_t>(1U << indexes[i]);
    }
    return wide;
  }
};

// fingerprint, which key each charge is on (a letter each), the answer, and the keys; in lines.
struct RedisStore::Locator {
  std::string fingerprint;
  std::string order;
  std::string answer = {};
  std::vector<std::string> homes;

  static Locator of(const Parameters& parameters) {
    Locator locator{.fingerprint = fingerprint_of(parameters), .order = {}, .homes = {}};
    for (const Charge& charge : parameters.charges) {
      auto home = std::find(locator.homes.begin(), locator.homes.end(), charge.key);
      if (home == locator.homes.end()) home = locator.homes.insert(home, std::string(charge.key));
      locator.order += static_cast<char>('a' + (home - locator.homes.begin()));
    }
    return locator;
  }

  [[nodiscard]] std::string text() const {
    std::string text = fingerprint + "\n" + order + "\n" + answer + "\n";
    for (const std::string& home : homes) text += (text.ends_with('\n') ? "" : "}") + escape_key(home);
    return text;
  }

  static std::optional<Locator> parse(std::string_view text) {
    Locator locator;
    for (std::string* line : {&locator.fingerprint, &locator.order, &locator.answer}) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) return std::nullopt;
      *line = text.substr(0, end);
      text.remove_prefix(end + 1);
    }
    for (const std::string& home : split(text, '}')) {
      auto key = unescape_key(home);
      if (!key) return std::nullopt;
      locator.homes.push_back(std::move(*key));
    }
    return locator;
  }
};

std::vector<RedisStore::Group> RedisStore::group(std::span<const Charge> charges) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const auto is_same = [&](const Group& other) { return other.key == charges[i].key; };
    auto found = std::find_if(groups.begin(), groups.end(), is_same);
    if (found == groups.end()) found = groups.insert(found, Group{.key = charges[i].key, .charges = {}, .indexes = {}});
    found->charges.push_back(charges[i]);
    found->indexes.push_back(i);
  }
  return groups;
}

// Whoever comes first says where the operation is; the others must mean the same one.
Result<RedisStore::Locator> RedisStore::claim(std::string_view id, const Locator& wanted, Duration keep) {
  const std::string key = locator_key(id);
  const std::string keep_ms = std::to_string((id_retention_ + keep).ms() + 1);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const std::string text = std::to_string(book()->epoch()) + "\n" + wanted.text();
    const auto set = run_command(key, {"SET", key, text, "NX", "PX", keep_ms});
    if (!set) return tl::make_unexpected(set.error());
    if (set->text == "OK") return wanted;
    const auto found = locate(id);
    if (!found) return tl::make_unexpected(found.error());
    if (*found) {
      if ((*found)->fingerprint == wanted.fingerprint) return **found;
      return tl::make_unexpected(core::id_mismatch(id));
    }
    // It was of an earlier epoch, or has just been forgotten.
    if (auto gone = run_command(key, {"DEL", key}); !gone) return tl::make_unexpected(gone.error());
  }
  return tl::make_unexpected(too_busy());
}

Result<std::optional<RedisStore::Locator>> RedisStore::locate(std::string_view id) {
  const std::string key = locator_key(id);
  const auto reply = run_command(key, {"GET", key});
  if (!reply) return tl::make_unexpected(reply.error());
  std::string_view text = reply->text;
  const std::string epoch = std::to_string(book()->epoch()) + "\n";
  if (!text.starts_with(epoch)) return std::nullopt;
  return Locator::parse(text.substr(epoch.size()));
}

Result<void> RedisStore::keep_answer(std::string_view id, Locator locator, const core::Verdict& verdict) {
  locator.answer = text_of(verdict);
  const std::string key = locator_key(id);
  const std::string text = std::to_string(book()->epoch()) + "\n" + locator.text();
  if (auto set = run_command(key, {"SET", key, text, "KEEPTTL"}); !set) return tl::make_unexpected(set.error());
  return {};
}

Result<core::Verdict> RedisStore::take_in_cluster(const TakeRequest& request) {
  const bool is_apart = group(request.charges).size() > 1;
  if (request.id.empty()) return is_apart ? take_across(request) : take_at_home(request);
  const Parameters parameters{
      .kind = 't', .mode = static_cast<char>('0' + static_cast<int>(request.mode)), .charges = request.charges};
  const auto locator = claim(request.id, Locator::of(parameters), {});
  if (!locator) return tl::make_unexpected(locator.error());
  if (!is_apart) return take_at_home(request);
  if (const auto earlier = parse_verdict(locator->answer)) return *earlier;
  const auto verdict = take_across(request);
  if (!verdict) return verdict;
  if (verdict->is_allowed || request.remembers_denial) {
    if (auto kept = keep_answer(request.id, *locator, *verdict); !kept) return tl::make_unexpected(kept.error());
  }
  return verdict;
}

// A take on the keys of several nodes.
Result<core::Verdict> RedisStore::take_across(const TakeRequest& request) {
  const std::vector<Group> groups = group(request.charges);
  core::Verdict verdict{.is_allowed = true};
  for (const Charge& charge : request.charges) verdict.taken += charge.cost;
  if (request.mode == Mode::kForce) {
    for (const Group& part : groups) {
      const auto taken = take_at_home({.charges = part.charges, .mode = Mode::kForce, .id = request.id});
      if (!taken) return taken;
    }
    return stand(request, verdict);
  }
  const TakeRequest as_take{.charges = request.charges, .mode = Mode::kTake, .usages = request.usages};
  const std::string id = request.id.empty() ? base::random_id() : std::string(request.id);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto peeked = peek(as_take);
    if (!peeked || !peeked->is_allowed || verdict.taken == 0) return peeked;
    std::vector<Charge> charges;  // a hold has no charges of 0
    std::copy_if(request.charges.begin(), request.charges.end(), std::back_inserter(charges),
                 [](const Charge& charge) { return charge.cost > 0; });
    const auto violated = hold_across({.charges = charges, .ttl = kMoment, .id = id, .is_id_random = true});
    if (!violated) return tl::make_unexpected(violated.error());
    if (!*violated) continue;  // somebody took what was there a moment ago
    for (const Group& part : group(charges)) {
      const auto committed = close_at_home(id, {.operation = "commit", .home = part.key});
      // One that is committed already was so by an attempt whose answer was lost.
      if (!committed && committed.error().code != ErrorCode::kNoHold) return tl::make_unexpected(committed.error());
    }
    verdict.violated = peeked->violated;
    return stand(request, verdict);
  }
  return peek(as_take);
}

// Tells how the meters stand after the operation.
Result<core::Verdict> RedisStore::stand(const TakeRequest& request, core::Verdict verdict) {
  const auto looked = look(request.charges);
  if (!looked) return tl::make_unexpected(looked.error());
  engine::MeterAccesses accesses = accesses_of(looked->images);
  const engine::MeterAccess& tightest = *engine::admission::tightest(accesses);
  core::tell_standing(tightest.rule->rule(), tightest.state, tightest.moment, verdict);
  engine::tell_usages(accesses, request.usages);
  return verdict;
}

Result<Settlement> RedisStore::give_in_cluster(std::span<const Charge> charges, std::string_view id) {
  const std::vector<Group> groups = group(charges);
  std::optional<Locator> locator;
  if (!id.empty()) {
    auto claimed = claim(id, Locator::of({.kind = 'g', .charges = charges}), {});
    if (!claimed) return tl::make_unexpected(claimed.error());
    locator = std::move(*claimed);
  }
  if (groups.size() == 1) return give_at_home(charges, id);
  if (locator) {
    if (const auto earlier = parse_verdict(locator->answer)) {
      return Settlement{.amount = earlier->taken, .remaining = earlier->remaining, .limit = earlier->limit};
    }
  }
  core::Verdict verdict{.is_allowed = true};
  for (const Group& part : groups) {
    const auto given = give_at_home(part.charges, id);
    if (!given) return given;
    verdict.taken += given->amount;
  }
  const auto told = stand({.charges = charges}, verdict);
  if (!told) return tl::make_unexpected(told.error());
  if (locator) {
    if (auto kept = keep_answer(id, *locator, *told); !kept) return tl::make_unexpected(kept.error());
  }
  return Settlement{.amount = told->taken, .remaining = told->remaining, .limit = told->limit};
}

Result<core::Verdict> RedisStore::hold_in_cluster(const HoldRequest& request) {
  const Parameters parameters{.kind = 'h', .charges = request.charges, .ttl = request.ttl, .tag = request.tag};
  const auto locator = claim(request.id, Locator::of(parameters), request.ttl);
  if (!locator) return tl::make_unexpected(locator.error());
  const TakeRequest as_take{.charges = request.charges, .mode = Mode::kTake, .usages = request.usages};
  core::Verdict verdict;
  if (locator->homes.size() == 1) {
    const auto held = hold_at_home(request);
    if (!held) return held;
    verdict = *held;
  } else {
    if (const auto earlier = parse_verdict(locator->answer)) return *earlier;
    bool is_held = false;
    for (int attempt = 0; attempt < kAttemptsMax && !is_held; ++attempt) {
      const auto peeked = peek(as_take);
      if (!peeked) return peeked;
      verdict = *peeked;
      if (!peeked->is_allowed) break;
      const auto violated = hold_across(request);
      if (!violated) return tl::make_unexpected(violated.error());
      is_held = violated->has_value();
    }
    if (is_held) {
      const auto told = stand(as_take, verdict);
      if (!told) return told;
      verdict = *told;
    }
    if (is_held || !request.is_id_random) {
      if (auto kept = keep_answer(request.id, *locator, verdict); !kept) return tl::make_unexpected(kept.error());
    }
  }
  if (verdict.is_allowed && !request.tag.empty()) {
    const auto expires = now() + request.ttl;
    if (auto tagged = tag_hold(request.tag, request.id, us_of(expires)); !tagged) {
      return tl::make_unexpected(tagged.error());
    }
  }
  return verdict;
}

// Holds the charges on each key; none, and nothing is held, if one of them does not fit.
Result<std::optional<std::uint16_t>> RedisStore::hold_across(const HoldRequest& request) {
  const std::vector<Group> groups = group(request.charges);
  std::uint16_t violated = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    HoldRequest part = request;
    part.charges = groups[i].charges;
    part.usages = {};
    part.is_id_random = true;  // a denial here is remembered for the whole, if at all
    const auto held = hold_at_home(part);
    if (held && held->is_allowed) {
      violated |= groups[i].widen(held->violated);
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) {
      // What cannot be cancelled now expires by itself.
      (void)close_at_home(request.id, {.operation = "cancel", .home = groups[j].key});
      const std::string record = record_key(request.id, groups[j].key);
      (void)run_command(record, {"DEL", record});  // it never happened: the next attempt holds anew
    }
    if (!held) return tl::make_unexpected(held.error());
    return std::nullopt;
  }
  return violated;
}

Result<std::optional<RedisStore::FoundHold>> RedisStore::find_in_cluster(std::string_view id) {
  const auto locator = locate(id);
  if (!locator) return tl::make_unexpected(locator.error());
  if (!*locator) return std::nullopt;
  std::vector<FoundHold> parts;
  for (const std::string& home : (*locator)->homes) {
    auto found = look_for_hold(id, home);
    if (!found || !*found) return found;
    parts.push_back(std::move(**found));
  }
  // The charges in the operation's order: each part has its own in that order.
  FoundHold whole = parts[0];
  whole.parts.clear();
  std::vector<std::size_t> next(parts.size());
  for (const char home : (*locator)->order) {
    const auto index = static_cast<std::size_t>(home - 'a');
    if (index >= parts.size() || next[index] >= parts[index].parts.size()) return std::nullopt;
    whole.parts.push_back(parts[index].parts[next[index]++]);
    if (parts[index].state != HoldState::kHeld) whole.state = parts[index].state;
  }
  return whole;
}

Result<Settlement> RedisStore::close_in_cluster(std::string_view id, const Closing& closing) {
  const auto locator = locate(id);
  if (!locator) return tl::make_unexpected(locator.error());
  if (!*locator) return tl::make_unexpected(core::no_hold(id));
  const auto found = find_in_cluster(id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return tl::make_unexpected(core::no_hold(id));
  const FoundHold& hold = **found;
  Settlement settlement;
  if ((*locator)->homes.size() == 1) {
    Closing at_home = closing;
    at_home.home = (*locator)->homes[0];
    const auto closed = close_at_home(id, at_home);
    if (!closed) return closed;
    settlement = *closed;
  } else {
    if (hold.state != HoldState::kHeld) return tl::make_unexpected(core::not_open(id, hold.state));
    if (auto ok = check_amounts(hold, closing); !ok) return tl::make_unexpected(ok.error());
    const auto closed = close_across(id, hold, **locator, closing);
    if (!closed) return closed;
    settlement = *closed;
  }
  if (closing.operation == "extend") {
    const std::string key = locator_key(id);
    const Duration keep = id_retention_ + Duration(std::chrono::microseconds(closing.ttl_us));
    if (auto kept = run_command(key, {"PEXPIRE", key, std::to_string(keep.ms() + 1)}); !kept) {
      return tl::make_unexpected(kept.error());
    }
  }
  if (!hold.tag.empty()) {
    const bool is_open = closing.operation == "extend";
    const auto tagged = is_open ? tag_hold(hold.tag, id, us_of(now()) + closing.ttl_us) : tag_hold(hold.tag, id, 0);
    if (!tagged) return tl::make_unexpected(tagged.error());
  }
  return settlement;
}

// Each part in its turn. What goes beyond the hold is taken first: if that does not fit, the hold stays as it is.
Result<Settlement> RedisStore::close_across(std::string_view id, const FoundHold& hold, const Locator& locator,
                                            const Closing& closing) {
  std::vector<Charge> charges;
  std::vector<Charge> overage;
  std::vector<std::vector<Amount>> amounts(locator.homes.size());
  for (std::size_t i = 0; i < hold.parts.size(); ++i) {
    const FoundHold::Part& part = hold.parts[i];
    const auto home = static_cast<std::size_t>(locator.order[i] - 'a');
    if (book()->find(part.limit) != nullptr) charges.push_back({part.limit, part.key, 0});
    if (closing.amounts.empty()) continue;
    amounts[home].push_back(std::min(closing.amounts[i], part.units));
    const Amount beyond = closing.amounts[i] - part.units;
    if (beyond > 0 && book()->find(part.limit) != nullptr) overage.push_back({part.limit, part.key, beyond});
  }
  if (!overage.empty()) {
    const auto taken = take_across({.charges = overage});
    if (!taken) return tl::make_unexpected(taken.error());
    if (!taken->is_allowed) return tl::make_unexpected(core::overage_does_not_fit(overage[0].limit, overage[0].cost));
  }
  Amount returned = 0;
  for (std::size_t i = 0; i < locator.homes.size(); ++i) {
    Closing part = closing;
    part.amounts = amounts[i];
    part.home = locator.homes[i];
    const auto closed = close_at_home(id, part);
    if (!closed) return closed;
    returned += closed->amount;
  }
  Settlement settlement{.amount = closing.is_commit() ? committed_amount(hold, closing) : returned};
  if (charges.empty()) return settlement;
  const auto told = stand({.charges = charges}, {});
  if (!told) return tl::make_unexpected(told.error());
  settlement.remaining = told->remaining;
  settlement.limit = told->limit;
  return settlement;
}

// `expires_us` 0: the hold is not open any more.
Result<void> RedisStore::tag_hold(std::string_view tag, std::string_view id, std::uint64_t expires_us) {
  const std::string key = tag_key(tag);
  const auto reply = expires_us == 0 ? run_command(key, {"HDEL", key, id})
                                     : run_command(key, {"HSET", key, id, std::to_string(expires_us)});
  if (!reply) return tl::make_unexpected(reply.error());
  if (expires_us == 0) return {};
  // Kept as long as the last of its holds; two who come at once may leave it shorter than that by a moment.
  const auto left = run_command(key, {"PTTL", key});
  if (!left) return tl::make_unexpected(left.error());
  const std::uint64_t until_ms = (expires_us + kMarginUs) / 1000;
  const std::uint64_t now_ms = us_of(now()) / 1000;
  if (left->integer >= 0 && now_ms + static_cast<std::uint64_t>(left->integer) >= until_ms) return {};
  if (auto kept = run_command(key, {"PEXPIREAT", key, std::to_string(until_ms)}); !kept) {
    return tl::make_unexpected(kept.error());
  }
  return {};
}

}  // namespace mete::store::redis
