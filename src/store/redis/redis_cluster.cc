// Operations in a Cluster. Everything of one key lies on one node, so an operation on one key is one script there, as
// on a single server. What concerns several keys is done node by node:
//
//     take    in parts (store/coordinator.h), each key being a home
//     hold    every part is held, and if one does not fit the others are cancelled; commit, cancel and extend go to
//             each part
//
// Nothing is ever over a limit. What another reader may see of a hold: parts that are held for a moment although it is
// denied in the end, and, while it is being committed, some of them committed and some still held. An id has a locator,
// on the node of the id: which keys its operation is on, and the answer where that is of several nodes.

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/try.h"
#include "core/refusals.h"
#include "engine/admission.h"
#include "store/coordinator.h"
#include "store/redis/names.h"
#include "store/redis/redis_hold.h"
#include "store/redis/replies.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

// Numbers with a space between each two; none if that is something else.
std::optional<std::vector<std::int64_t>> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (numbers.empty() || at != end) {
    if (!numbers.empty() && *at++ != ' ') return std::nullopt;
    const auto read = std::from_chars(at, end, numbers.emplace_back());
    if (read.ec != std::errc{}) return std::nullopt;
    at = read.ptr;
  }
  return numbers;
}

std::string text_of(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string text_of(const core::Verdict& verdict) {
  return text_of(std::array{std::int64_t{verdict.is_allowed}, std::int64_t{verdict.violated}, verdict.taken,
                            verdict.remaining, verdict.limit, verdict.retry_after.ns(), verdict.reset_after.ns()});
}

std::optional<core::Verdict> parse_verdict(std::string_view text) {
  constexpr std::size_t kNumbers = 7;
  const auto numbers = parse_numbers(text);
  if (!numbers || numbers->size() != kNumbers) return std::nullopt;
  return core::Verdict{.is_allowed = (*numbers)[0] == 1,
                       .violated = static_cast<std::uint16_t>((*numbers)[1]),
                       .taken = (*numbers)[2],
                       .remaining = (*numbers)[3],
                       .limit = (*numbers)[4],
                       .retry_after = Duration::from_ns((*numbers)[5]),
                       .reset_after = Duration::from_ns((*numbers)[6])};
}

// How a hold on several nodes has ended, and the amounts that it was committed with, if some were told.
struct Ending {
  Settlement answer;
  std::vector<Amount> amounts;
};

std::string text_of(const Settlement& answer, std::span<const Amount> amounts) {
  std::vector<std::int64_t> numbers = {answer.amount, answer.remaining, answer.limit};
  numbers.insert(numbers.end(), amounts.begin(), amounts.end());
  return text_of(numbers);
}

std::optional<Ending> parse_ending(std::string_view text) {
  constexpr std::size_t kAnswerNumbers = 3;
  const auto numbers = parse_numbers(text);
  if (!numbers || numbers->size() < kAnswerNumbers) return std::nullopt;
  return Ending{{.amount = (*numbers)[0], .remaining = (*numbers)[1], .limit = (*numbers)[2]},
                {numbers->begin() + kAnswerNumbers, numbers->end()}};
}

Parameters parameters_of_take(const Take& request) {
  return {.kind = 't', .mode = static_cast<char>('0' + static_cast<int>(request.mode)), .charges = request.charges};
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
};

// fingerprint, which key each charge is on (a letter each), the answer, and the keys; in lines. Of a hold on several
// nodes that has ended the answer to that follows its own: "|", its amount, what remained, the limit, and the amounts.
struct RedisStore::Locator {
  std::string fingerprint;
  std::string order;
  std::string answer = {};
  std::string ending = {};
  std::vector<std::string> homes;
  bool is_new = false;  // not in its text: the operation that has just written it is the first one of its id

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
    std::string text = fingerprint + "\n" + order + "\n" + answer + (ending.empty() ? "" : "|") + ending + "\n";
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
    if (const std::size_t bar = locator.answer.find('|'); bar != std::string::npos) {
      locator.ending = locator.answer.substr(bar + 1);
      locator.answer.resize(bar);
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
    const auto set = TRY(run_command(key, {"SET", key, text, "NX", "PX", keep_ms}));
    if (set.text == "OK") {
      Locator claimed = wanted;
      claimed.is_new = true;
      return claimed;
    }
    const auto found = TRY(locate(id));
    if (found) {
      if (found->fingerprint == wanted.fingerprint) return *found;
      return core::id_mismatch(id);
    }
    // It was of an earlier epoch, or has just been forgotten.
    TRY(run_command(key, {"DEL", key}));
  }
  return too_busy();
}

// What was refused has never happened, and its id is free again.
void RedisStore::unclaim(std::string_view id, const Locator& locator, const Error& error) {
  const bool is_refused = error.code == ErrorCode::kNoLimit || error.code == ErrorCode::kInvalid;
  if (!locator.is_new || !is_refused) return;
  const std::string key = locator_key(id);
  (void)run_command(key, {"DEL", key});  // If it stays, the same operation can be asked again all the same.
}

Result<std::optional<RedisStore::Locator>> RedisStore::locate(std::string_view id) {
  const std::string key = locator_key(id);
  const auto reply = TRY(run_command(key, {"GET", key}));
  std::string_view text = reply.text;
  const std::string epoch = std::to_string(book()->epoch()) + "\n";
  if (!text.starts_with(epoch)) return std::nullopt;
  return Locator::parse(text.substr(epoch.size()));
}

Result<void> RedisStore::keep_answer(std::string_view id, Locator locator, const core::Verdict& verdict) {
  locator.answer = text_of(verdict);
  return keep_locator_text(id, locator);
}

Result<void> RedisStore::keep_ending(std::string_view id, Locator locator, const Settlement& answer,
                                     std::span<const Amount> amounts) {
  locator.ending = text_of(answer, amounts);
  return keep_locator_text(id, locator);
}

Result<void> RedisStore::keep_locator_text(std::string_view id, const Locator& locator) {
  const std::string key = locator_key(id);
  const std::string text = std::to_string(book()->epoch()) + "\n" + locator.text();
  TRY(run_command(key, {"SET", key, text, "KEEPTTL"}));
  return {};
}

// As long as the id is remembered: from when it is final, which is so far from now.
Result<void> RedisStore::keep_locator(std::string_view id, Duration keep) {
  const std::string key = locator_key(id);
  TRY(run_command(key, {"PEXPIRE", key, std::to_string((id_retention_ + keep).ms() + 1)}));
  return {};
}

Result<core::Verdict> RedisStore::take_in_cluster(const Take& request) {
  const bool is_apart = group(request.charges).size() > 1;
  if (request.id.empty()) return is_apart ? take_across(request) : take_at_home(request);
  const auto locator = TRY(claim(request.id, Locator::of(parameters_of_take(request)), {}));
  if (const auto earlier = parse_verdict(locator.answer)) return *earlier;
  auto verdict = is_apart ? take_across(request) : take_at_home(request);
  if (!verdict.has_value()) {
    unclaim(request.id, locator, verdict.error());
    return verdict;
  }
  if (is_apart && (verdict->is_allowed || request.remembers_denial)) {
    TRY(keep_answer(request.id, locator, *verdict));
  }
  return verdict;
}

// The answer to a take on the keys of several nodes lies with its locator.
Result<std::optional<core::Verdict>> RedisStore::recall_in_cluster(const Take& request) {
  const auto locator = TRY(locate(request.id));
  if (!locator) return std::nullopt;
  if (locator->fingerprint != fingerprint_of(parameters_of_take(request))) return core::id_mismatch(request.id);
  if (locator->homes.size() == 1) return recall_at_home(request);
  return parse_verdict(locator->answer);
}

// What is on one key, as an operation of its own.
template <class What>
Result<typename What::Answer> RedisStore::run_at_home(const What& operation, std::string_view key) {
  if constexpr (std::is_same_v<What, Take>) {
    return operation.mode == Mode::kPeek ? peek(operation) : take_at_home(operation);
  } else if constexpr (std::is_same_v<What, core::Recall>) {
    return recall_at_home(operation.take);
  } else if constexpr (std::is_same_v<What, core::Give>) {
    return give_at_home(operation.charges, operation.id);
  } else if constexpr (std::is_same_v<What, Hold>) {
    return hold_at_home(operation, Extent::kPart);
  } else if constexpr (std::is_same_v<What, core::FindHold>) {
    const auto found = TRY(look_for_hold(operation.id, key));
    return found ? std::optional(found->info(operation.id)) : std::nullopt;
  } else if constexpr (std::is_same_v<What, core::Extend>) {
    const auto ttl_us = static_cast<std::uint64_t>(operation.ttl.ns() / kNsPerMicro);
    TRY(close_at_home(operation.id, {.operation = "extend", .ttl_us = ttl_us, .home = key}));
    return operation.ttl;
  } else {
    constexpr bool kIsCommit = std::is_same_v<What, Commit>;
    return close_at_home(operation.id, {.operation = kIsCommit ? "commit" : "cancel", .home = key});
  }
}

template <class Act>
auto RedisStore::in_parts(std::span<const Charge> charges, Act act) {
  const auto home_at = [this](std::string_view key) {
    return HomeOf([this, key](const auto& operation) { return this->run_at_home(operation, key); });
  };
  const std::vector<Group> groups = group(charges);
  std::vector<decltype(home_at({}))> homes;
  homes.reserve(groups.size());
  for (const Group& each : groups) homes.push_back(home_at(each.key));
  std::vector<HomePart> parts;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    parts.push_back({.home = &homes[i], .charges = groups[i].charges, .places = groups[i].indexes});
  }
  Coordinator coordinator(parts);
  return act(coordinator);
}

// A take on the keys of several nodes.
Result<core::Verdict> RedisStore::take_across(const Take& request) {
  if (request.mode == Mode::kForce) TRY(check_force(request.charges));
  const auto verdict = TRY(in_parts(request.charges, [&](Coordinator& whole) { return whole.take(request); }));
  return stand(request, verdict);
}

Result<void> RedisStore::check_force(std::span<const Charge> charges) {
  const auto looked = TRY(look(charges));
  for (const engine::MeterAccess& meter : accesses_of(looked.images)) {
    if (meter.used() + meter.cost > kAmountMax) return core::usage_too_large("cost", meter.limit_name);
  }
  return {};
}

// Tells how the meters stand after the operation.
Result<core::Verdict> RedisStore::stand(const Take& request, core::Verdict verdict) {
  const auto looked = TRY(look(request.charges));
  engine::MeterAccesses accesses = accesses_of(looked.images);
  const engine::MeterAccess& tightest = *engine::admission::tightest(accesses);
  core::tell_standing(tightest.rule->rule(), tightest.state, tightest.moment, verdict);
  engine::tell_usages(accesses, request.usages);
  return verdict;
}

Result<Settlement> RedisStore::give_in_cluster(std::span<const Charge> charges, std::string_view id) {
  const bool is_apart = group(charges).size() > 1;
  const auto give_apart = [&]() -> Result<Settlement> {
    const auto given = TRY(in_parts(charges, [&](Coordinator& whole) { return whole.give({charges, id}); }));
    const auto told = TRY(stand({.charges = charges}, {}));
    return Settlement{.amount = given.amount, .remaining = told.remaining, .limit = told.limit};
  };
  if (id.empty()) return is_apart ? give_apart() : give_at_home(charges, id);
  const auto locator = TRY(claim(id, Locator::of({.kind = 'g', .charges = charges}), {}));
  if (const auto earlier = parse_verdict(locator.answer)) {
    return Settlement{.amount = earlier->taken, .remaining = earlier->remaining, .limit = earlier->limit};
  }
  auto given = is_apart ? give_apart() : give_at_home(charges, id);
  if (!given) {
    unclaim(id, locator, given.error());
    return given;
  }
  if (is_apart) {
    const core::Verdict answer{
        .is_allowed = true, .taken = given->amount, .remaining = given->remaining, .limit = given->limit};
    TRY(keep_answer(id, locator, answer));
  }
  return given;
}

Result<core::Verdict> RedisStore::hold_in_cluster(const Hold& request) {
  const Parameters parameters{.kind = 'h', .charges = request.charges, .ttl = request.ttl, .tag = request.tag};
  const auto locator = TRY(claim(request.id, Locator::of(parameters), request.ttl));
  if (const auto earlier = parse_verdict(locator.answer)) return *earlier;
  const bool is_apart = locator.homes.size() > 1;
  auto verdict = is_apart ? hold_apart(request) : hold_at_home(request);
  if (!verdict.has_value()) {
    unclaim(request.id, locator, verdict.error());
    return verdict;
  }
  if (is_apart && (verdict->is_allowed || !request.is_id_random)) {
    TRY(keep_answer(request.id, locator, *verdict));
  }
  if (!verdict->is_allowed) TRY(keep_locator(request.id, {}));
  if (verdict->is_allowed && !request.tag.empty()) TRY(tag_if_open(request.id, locator));
  return verdict;
}

Result<core::Verdict> RedisStore::hold_apart(const Hold& request) {
  const Take as_take{.charges = request.charges, .mode = Mode::kTake, .usages = request.usages};
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto peeked = TRY(peek(as_take));
    if (!peeked.is_allowed) return peeked;
    const bool is_held = TRY(hold_across(request));
    if (is_held) return stand(as_take, peeked);
  }
  return too_busy();
}

// Holds the charges on each key; false, and nothing is held, if one of them does not fit.
Result<bool> RedisStore::hold_across(const Hold& request) {
  const std::vector<Group> groups = group(request.charges);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Hold part = request;
    part.charges = groups[i].charges;
    part.usages = {};
    part.is_id_random = true;  // a denial here is remembered for the whole, if at all
    const auto held = hold_at_home(part, Extent::kPart);
    if (held.has_value() && held->is_allowed) continue;
    for (std::size_t j = 0; j < i; ++j) {
      // What cannot be cancelled now expires by itself.
      std::optional<FoundHold> unknown;
      (void)close_at_home(request.id, {.operation = "cancel", .home = groups[j].key}, unknown);
      const std::string record = record_key(request.id, groups[j].key);
      (void)run_command(record, {"DEL", record});  // it never happened: the next attempt holds anew
    }
    if (!held.has_value()) return held.error();
    return false;
  }
  return true;
}

Result<std::optional<RedisStore::FoundHold>> RedisStore::find_in_cluster(std::string_view id) {
  const auto locator = TRY(locate(id));
  if (!locator) return std::nullopt;
  std::vector<FoundHold> parts;
  for (const std::string& home : locator->homes) {
    auto found = look_for_hold(id, home);
    if (!found.has_value() || !*found) return found;
    parts.push_back(std::move(**found));
  }
  // The charges in the operation's order: each part has its own in that order.
  FoundHold whole = parts[0];
  whole.parts.clear();
  std::vector<std::size_t> next(parts.size());
  for (const char home : locator->order) {
    const auto index = static_cast<std::size_t>(home - 'a');
    if (index >= parts.size() || next[index] >= parts[index].parts.size()) return std::nullopt;
    whole.parts.push_back(parts[index].parts[next[index]++]);
    if (parts[index].state != HoldState::kHeld) whole.state = parts[index].state;
  }
  whole.is_of_all = std::all_of(parts.begin(), parts.end(), [](const FoundHold& part) { return part.is_of_all; });
  return whole;
}

Result<Settlement> RedisStore::close_in_cluster(std::string_view id, const Closing& closing) {
  // Those that are remembered lie at one home.
  if (auto recent = recent_holds_->find(id)) return close_at_one_home(id, closing, std::move(recent));
  const auto locator = TRY(locate(id));
  if (!locator) return core::no_hold(id);
  if (locator->homes.size() == 1) {
    Closing at_home = closing;
    at_home.home = locator->homes[0];
    return close_at_one_home(id, at_home, std::nullopt);
  }
  const auto found = TRY(find_in_cluster(id));
  if (!found) return core::no_hold(id);
  const FoundHold& hold = *found;
  if (const auto earlier = parse_ending(locator->ending)) {
    // What went beyond the hold is not in the parts of all nodes.
    const bool is_same = !closing.amounts.empty() && std::ranges::equal(closing.amounts, earlier->amounts);
    if (!is_same) TRY(check_repeated(id, hold, closing));
    return earlier->answer;
  }
  // Where a node was lost on the way it has ended on some of them: the same end again completes it.
  if (hold.state != HoldState::kHeld && !closing.leads_to(hold.state)) return core::not_open(id, hold.state);
  if (hold.state == HoldState::kHeld) TRY(check_amounts(hold, closing));
  const auto settlement = TRY(close_across(id, hold, *locator, closing));
  if (closing.operation != "extend") TRY(keep_ending(id, *locator, settlement, closing.amounts));
  TRY(keep_locator(id, Duration(std::chrono::microseconds(closing.ttl_us))));
  if (!hold.tag.empty()) {
    const bool is_open = closing.operation == "extend";
    TRY(is_open ? tag_if_open(id, *locator) : tag_hold(hold.tag, id, 0));
  }
  return settlement;
}

// The locator is kept long enough from the beginning, and is no good for longer than the hold; but it takes memory.
Result<Settlement> RedisStore::close_at_one_home(std::string_view id, Closing closing, std::optional<FoundHold> found) {
  if (found) closing.home = found->parts[0].key;
  const std::string home(closing.home);
  closing.home = home;
  const auto settlement = TRY(close_at_home(id, closing, found));
  const bool is_extended = closing.operation == "extend";
  const bool is_kept_long = found->expires_us > us_of(now()) + static_cast<std::uint64_t>(id_retention_.ns() / 1000);
  if (is_extended || is_kept_long) TRY(keep_locator(id, Duration(std::chrono::microseconds(closing.ttl_us))));
  if (!found->tag.empty()) {
    const Locator locator{.fingerprint = {}, .order = {}, .homes = {home}};
    TRY(is_extended ? tag_if_open(id, locator) : tag_hold(found->tag, id, 0));
  }
  return settlement;
}

// The home that has parts beyond their hold: if there are several, one where another part on the same meter leaves
// room; none: their number.
std::size_t RedisStore::home_of_overage(const FoundHold& hold, const Locator& locator, const Closing& closing) {
  std::size_t found = locator.homes.size();
  for (std::size_t i = 0; i < closing.amounts.size(); ++i) {
    const FoundHold::Part& part = hold.parts[i];
    if (closing.amounts[i] <= part.units) continue;
    const auto home = static_cast<std::size_t>(locator.order[i] - 'a');
    for (std::size_t other = 0; other < hold.parts.size(); ++other) {
      const FoundHold::Part& beside = hold.parts[other];
      if (beside.limit == part.limit && beside.key == part.key && closing.amounts[other] < beside.units) return home;
    }
    if (found == locator.homes.size()) found = home;
  }
  return found;
}

// Each home in its turn. What goes beyond the hold comes first: if that does not fit, the hold stays as it is. One home
// takes it in the step that settles its parts, where what other parts leave makes room; for further homes it is taken
// before.
Result<Settlement> RedisStore::close_across(std::string_view id, const FoundHold& hold, const Locator& locator,
                                            const Closing& closing) {
  std::vector<Charge> charges;
  std::vector<Charge> overage;
  std::vector<std::vector<Amount>> amounts(locator.homes.size());
  const auto first = home_of_overage(hold, locator, closing);
  for (std::size_t i = 0; i < hold.parts.size(); ++i) {
    const FoundHold::Part& part = hold.parts[i];
    const auto home = static_cast<std::size_t>(locator.order[i] - 'a');
    // As in send_closing(): what is not held of a meter tells nothing of it.
    const KnownLimit* const limit = book()->find(part.limit);
    if (part.is_backed && limit != nullptr && limit->entry().born == part.born) {
      charges.push_back({part.limit, part.key, 0});
    }
    if (closing.amounts.empty()) continue;
    amounts[home].push_back(home == first ? closing.amounts[i] : std::min(closing.amounts[i], part.units));
    const Amount beyond = home == first ? 0 : closing.amounts[i] - part.units;
    if (beyond > 0 && limit != nullptr) overage.push_back({part.limit, part.key, beyond});
  }
  if (!overage.empty()) {
    const auto taken = TRY(take_across({.charges = overage}));
    if (!taken.is_allowed) return core::overage_does_not_fit(overage[0].limit, overage[0].cost);
  }
  std::vector<std::size_t> homes(locator.homes.size());
  std::iota(homes.begin(), homes.end(), std::size_t{0});
  if (first < homes.size()) std::swap(homes[0], homes[first]);
  Amount returned = 0;
  for (const std::size_t home : homes) {
    Closing part = closing;
    part.amounts = amounts[home];
    part.home = locator.homes[home];
    const auto closed = close_at_home(id, part);
    if (!closed) {
      // Refused for certain: then what was taken for it goes back.
      if (closed.error().code == ErrorCode::kExceeds && !overage.empty()) TRY(give_in_cluster(overage, {}));
      return closed.error();
    }
    returned += closed->amount;
  }
  Settlement settlement{.amount = closing.is_commit() ? committed_amount(hold, closing) : returned};
  if (charges.empty()) return settlement;
  const auto told = TRY(stand({.charges = charges}, {}));
  settlement.remaining = told.remaining;
  settlement.limit = told.limit;
  return settlement;
}

// Until when, is for the hold's own node to say. One that is asked for again may have ended since.
Result<void> RedisStore::tag_if_open(std::string_view id, const Locator& locator) {
  const auto found = TRY(look_for_hold(id, locator.homes[0]));
  if (!found || found->state != HoldState::kHeld) return {};
  return tag_hold(found->tag, id, found->expires_us);
}

// `expires_us` 0: the hold is not open any more.
Result<void> RedisStore::tag_hold(std::string_view tag, std::string_view id, std::uint64_t expires_us) {
  const std::string key = tag_key(tag);
  TRY(expires_us == 0 ? run_command(key, {"HDEL", key, id})
                      : run_command(key, {"HSET", key, id, std::to_string(expires_us)}));
  if (expires_us == 0) return {};
  // Kept as long as the last of its holds; two who come at once may leave it shorter than that by a moment.
  const auto left = TRY(run_command(key, {"PTTL", key}));
  const std::uint64_t until_ms = (expires_us + kMarginUs) / 1000;
  const std::uint64_t now_ms = us_of(now()) / 1000;
  if (left.integer >= 0 && now_ms + static_cast<std::uint64_t>(left.integer) >= until_ms) return {};
  TRY(run_command(key, {"PEXPIREAT", key, std::to_string(until_ms)}));
  return {};
}

}  // namespace mete::store::redis
