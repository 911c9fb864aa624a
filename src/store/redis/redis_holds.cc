// Holds: charges set aside under an id, and what becomes of them.

#include <algorithm>

#include "base/monotonic.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/redis/names.h"
#include "store/redis/redis_hold.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

// Of one charge: what the short scripts do.
bool may_be_short(const KnownLimit& limit) {
  return limit.rule().rule().kind != Kind::kSliding && !limit.definition().is_shadow();
}

HoldState state_of(std::string_view text) {
  return text == "committed" ? HoldState::kCommitted : text == "cancelled" ? HoldState::kCancelled : HoldState::kHeld;
}

}  // namespace

Result<core::Verdict> RedisStore::perform(const core::Hold& hold) {
  return is_cluster_ ? hold_in_cluster(hold) : hold_at_home(hold);
}

Result<core::Verdict> RedisStore::hold_at_home(const Hold& request, Extent extent) {
  const auto ttl_us = TRY(micros_of("ttl", request.ttl));
  const std::string fingerprint =
      fingerprint_of({.kind = 'h', .charges = request.charges, .ttl = request.ttl, .tag = request.tag});
  if (auto verdict = hold_shortly(request, static_cast<std::uint64_t>(ttl_us), fingerprint, extent)) {
    return std::move(*verdict);
  }
  const auto write = [&](const Meters& meters, Call& call) {
    call.arguments.emplace_back("hold");
    call.arguments.push_back(std::to_string(meters.list.size()) + (request.usages.empty() ? " 0 " : " 1 ") +
                             fingerprint + " " + retention_text() + " " + std::to_string(meters.book->epoch()) +
                             (request.is_id_random ? " 1 " : " 0 ") + std::to_string(ttl_us));
    call.keys.push_back(record_key(request.id, request.charges[0].key));
    if (!request.tag.empty() && !is_cluster_) call.keys.push_back(tag_key(request.tag));
    call.arguments.emplace_back(request.id);
    call.arguments.emplace_back(request.tag);
    for (std::size_t i = 0; i < request.charges.size(); ++i) {
      const auto is_on = [i](const Charged& meter) { return (meter.charges >> i & 1U) != 0; };
      const auto meter = std::find_if(meters.list.begin(), meters.list.end(), is_on);
      call.arguments.push_back(std::to_string(meter - meters.list.begin() + 1));
      call.arguments.push_back(std::to_string(request.charges[i].cost));
      call.arguments.emplace_back(request.charges[i].limit);
      call.arguments.emplace_back(request.charges[i].key);
      call.arguments.push_back(std::to_string(meter->limit->entry().born));
    }
  };
  const auto answer = TRY(settle_once(
      request.charges, {.id = request.id, .fingerprint = fingerprint, .home = request.charges[0].key}, write));
  remember_hold(request, answer, extent);
  return read_decision(answer.reply, answer.meters, Mode::kTake, request.usages)
      .map_error(naming(record_key(request.id, request.charges[0].key)));
}

ShortHold RedisStore::short_hold(const Book& known, const KnownLimit& limit, std::string_view key, std::string_view id,
                                 std::string_view tag) const {
  return {.limit = limit,
          .key = key,
          .id = id,
          .tag = tag,
          .meter_name = meter_key(limit.definition().name(), key),
          .record_name = record_key(id, key),
          .tag_name = tag.empty() || is_cluster_ ? std::string() : tag_key(tag),
          .bounds = session_.clock.bounds(),
          .now_us = us_of(now()),
          .retention_us = static_cast<std::uint64_t>(id_retention_.ns() / kNsPerMicro),
          .epoch = known->epoch()};
}

// None: it is settle.lua's.
std::optional<Result<core::Verdict>> RedisStore::hold_shortly(const Hold& request, std::uint64_t ttl_us,
                                                              const std::string& fingerprint, Extent extent) {
  if (request.charges.size() != 1 || !request.usages.empty()) return std::nullopt;
  const Charge& charge = request.charges[0];
  const Book known = book();
  const KnownLimit* const limit = known->find(charge.limit);
  if (limit == nullptr || !may_be_short(*limit)) return std::nullopt;
  const Instant asked_at = base::monotonic_now();
  if (long_holds_.has(charge.limit, charge.key, asked_at)) return std::nullopt;
  Batch batch;
  short_hold(known, *limit, charge.key, request.id, request.tag)
      .write(
          ShortHold::Beginning{
              .ttl_us = ttl_us, .cost = charge.cost, .fingerprint = fingerprint, .keeps_denial = !request.is_id_random},
          batch);
  auto reply = run(batch);
  if (!reply) return reply.error();
  if (reply->elements.empty()) {
    long_holds_.note(charge.limit, charge.key, asked_at);
    return std::nullopt;
  }
  if (const auto seen = saw(element(*reply, 1)); !seen) return seen.error();
  const Answer answer{meters_of(known, *limit, charge), std::move(*reply)};
  remember_hold(request, answer, extent);
  return read_decision(answer.reply, answer.meters, Mode::kTake, {});
}

void RedisStore::remember_hold(const Hold& request, const Answer& answer, Extent extent) {
  const auto made_us = read_natural(element(answer.reply, 1));
  if (extent == Extent::kPart || !made_us || element(answer.reply, 2).integer != 1 || !answer.meters.book) return;
  FoundHold hold;
  hold.made_us = *made_us;
  hold.expires_us = *made_us + static_cast<std::uint64_t>(request.ttl.ns() / kNsPerMicro);
  hold.tag = request.tag;
  for (const Charge& charge : request.charges) {
    const KnownLimit* const limit = answer.meters.book->find(charge.limit);
    if (limit == nullptr || limit->definition().is_shadow()) return;  // whether its part is held, a look tells
    hold.parts.push_back({std::string(charge.limit), std::string(charge.key), charge.cost, true, limit->entry().born});
  }
  recent_holds_->put(request.id, std::move(hold));
}

void RedisStore::RecentHolds::put(std::string_view id, FoundHold hold) {
  const std::lock_guard guard(mutex_);
  ids_.emplace_back(id);
  holds_.insert_or_assign(ids_.back(), std::move(hold));
  if (ids_.size() <= kHoldsMax) return;
  holds_.erase(ids_.front());
  ids_.pop_front();
}

std::optional<RedisStore::FoundHold> RedisStore::RecentHolds::find(std::string_view id) const {
  const std::lock_guard guard(mutex_);
  const auto found = holds_.find(std::string(id));
  return found == holds_.end() ? std::nullopt : std::optional(found->second);
}

void RedisStore::RecentHolds::forget(std::string_view id) {
  const std::lock_guard guard(mutex_);
  holds_.erase(std::string(id));
}

// Null if there is no hold of that id, or it was forgotten.
Result<std::optional<RedisStore::FoundHold>> RedisStore::look_for_hold(std::string_view id, std::string_view home) {
  const std::string key = record_key(id, home);
  const std::string arguments[] = {"hold"};
  const auto reply = TRY(run_script(StoreScript::kLook, {&key, 1}, arguments));
  const auto now_us = TRY(saw(element(reply, 0)));
  if (reply.elements.size() < 2) return std::nullopt;
  return read_hold(reply.elements[1], now_us).map_error(naming(key));
}

Result<std::optional<RedisStore::FoundHold>> RedisStore::read_hold(const wire::RespValue& record,
                                                                   std::uint64_t now_us) const {
  FoundHold hold;
  hold.now_us = now_us;
  if (element(record, 1).text != std::to_string(book()->epoch())) return std::nullopt;
  hold.made_us = TRY(read_natural(element(record, 0)));
  hold.state = state_of(element(record, 2).text);
  hold.expires_us = TRY(read_natural(element(record, 3)));
  if (hold.state == HoldState::kHeld && hold.now_us >= hold.expires_us) hold.state = HoldState::kExpired;
  const auto final_us = TRY(read_natural(element(record, 4)));
  const bool is_final = hold.state == HoldState::kCommitted || hold.state == HoldState::kCancelled;
  const std::uint64_t since_us = is_final ? final_us : hold.expires_us;
  if (hold.now_us >= since_us + static_cast<std::uint64_t>(id_retention_.ns() / 1000)) return std::nullopt;
  hold.tag = element(record, 5).text;
  for (const wire::RespValue& part : element(record, 6).elements) {
    const auto units = TRY(read_units(element(part, 2)));
    const auto born = TRY(read_natural(element(part, 4)));
    hold.parts.push_back({element(part, 0).text, element(part, 1).text, units, element(part, 3).text == "1", born});
  }
  hold.ending = element(record, 7);
  hold.is_of_all = element(record, 8).integer == 1;
  return hold;
}

// What becomes of an open hold. The meters that it is on must be known before the script can be called, so the hold is
// looked at first; the script sees whether it is still the same one.
Result<Settlement> RedisStore::close_at_home(std::string_view id, const Closing& closing) {
  std::optional<FoundHold> found = recent_holds_->find(id);
  return close_at_home(id, closing, found);
}

Result<Settlement> RedisStore::close_at_home(std::string_view id, const Closing& closing,
                                             std::optional<FoundHold>& found) {
  if (found) {
    if (auto settlement = close_recent(id, *found, closing)) return std::move(*settlement);
  }
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    found = TRY(look_for_hold(id, closing.home));
    if (!found) return core::no_hold(id);
    const FoundHold& hold = *found;
    if (hold.state != HoldState::kHeld) return closed_before(id, hold, closing);
    TRY(check_amounts(hold, closing));
    auto answer = TRY(send_closing(id, hold, closing));
    const std::string& what = element(answer.reply, 0).text;
    if (what == "ok") return settlement_of(hold, closing, answer);
    if (what == "nohold") return core::no_hold(id);
    if (what == "expired") return core::not_open(id, HoldState::kExpired);
    if (what == "overage") {
      const auto index = static_cast<std::size_t>(element(answer.reply, 2).integer) - 1;
      if (index >= answer.meters.list.size()) return unexpected_reply("an answer to a script");
      const auto overage = TRY(read_units(element(answer.reply, 3)));
      return core::overage_does_not_fit(answer.meters.list[index].limit->definition().name(), overage);
    }
    // "changed": another hold has taken its place in between; "final": it has ended since it was looked at.
  }
  return too_busy();
}

Result<Settlement> RedisStore::settlement_of(const FoundHold& hold, const Closing& closing, const Answer& answer) {
  auto settlement = read_settlement(answer);
  if (settlement && closing.is_commit()) settlement->amount = committed_amount(hold, closing);
  return settlement;
}

// None: whatever has become of the hold meanwhile, a look at it tells.
std::optional<Result<Settlement>> RedisStore::close_recent(std::string_view id, const FoundHold& hold,
                                                           const Closing& closing) {
  if (!check_amounts(hold, closing)) return std::nullopt;
  if (closing.operation != "extend") recent_holds_->forget(id);
  if (auto settlement = close_shortly(id, hold, closing)) return settlement;
  const auto answer = send_closing(id, hold, closing);
  if (!answer) return answer.error();
  if (element(answer->reply, 0).text != "ok") return std::nullopt;
  return settlement_of(hold, closing, *answer);
}

std::optional<Result<Settlement>> RedisStore::close_shortly(std::string_view id, const FoundHold& hold,
                                                            const Closing& closing) {
  const bool is_one = hold.parts.size() == 1 && closing.operation != "extend" && !closing.allow_overage;
  if (!is_one) return std::nullopt;
  const FoundHold::Part& part = hold.parts[0];
  const Book known = book();
  const KnownLimit* const limit = known->find(part.limit);
  if (limit == nullptr || limit->entry().born != part.born || !may_be_short(*limit)) return std::nullopt;
  const Instant asked_at = base::monotonic_now();
  if (long_holds_.has(part.limit, part.key, asked_at)) return std::nullopt;
  Amount committed = ShortHold::End::kNothing;
  if (closing.is_commit()) committed = closing.amounts.empty() ? ShortHold::End::kAll : closing.amounts[0];
  Batch batch;
  short_hold(known, *limit, part.key, id, hold.tag)
      .write(ShortHold::End{.made_us = hold.made_us, .committed = committed}, batch);
  auto reply = run(batch);
  if (!reply) return reply.error();
  if (reply->elements.empty()) {
    long_holds_.note(part.limit, part.key, asked_at);
    return std::nullopt;
  }
  if (const auto seen = saw(element(*reply, 1)); !seen) return seen.error();
  const Charge charge{part.limit, part.key, 0};
  return settlement_of(hold, closing, Answer{meters_of(known, *limit, charge), std::move(*reply)});
}

// The same end again gets the same answer.
Result<void> RedisStore::check_repeated(std::string_view id, const FoundHold& hold, const Closing& closing) {
  if (!closing.leads_to(hold.state)) return core::not_open(id, hold.state);
  if (!closing.is_commit()) return {};
  TRY(check_amount_count(hold, closing));
  const bool is_same = closing.amounts.empty() ? hold.is_of_all : hold.has_units(closing.amounts);
  if (!is_same) return core::committed_otherwise(id);
  return {};
}

Result<Settlement> RedisStore::closed_before(std::string_view id, const FoundHold& hold, const Closing& closing) const {
  if (hold.ending.elements.empty()) return core::not_open(id, hold.state);  // of an earlier version
  TRY(check_repeated(id, hold, closing));
  constexpr std::size_t kWordsBeforeMeters = 3;
  Answer answer{.meters = {}, .reply = hold.ending};
  const std::size_t words = answer.reply.elements.size();
  answer.meters.list.resize(words - std::min(words, kWordsBeforeMeters));
  auto settlement = TRY(read_settlement(answer).map_error(naming(record_key(id, closing.home))));
  if (closing.is_commit()) settlement.amount = hold.units();
  return settlement;
}

Amount RedisStore::committed_amount(const FoundHold& hold, const Closing& closing) {
  Amount committed = 0;
  for (const Amount amount : closing.amounts) committed += amount;
  return closing.amounts.empty() ? hold.units() : committed;
}

Result<void> RedisStore::check_amount_count(const FoundHold& hold, const Closing& closing) {
  if (closing.amounts.empty() || closing.amounts.size() == hold.parts.size()) return {};
  return core::wrong_amount_count(hold.parts.size(), closing.amounts.size());
}

Result<void> RedisStore::check_amounts(const FoundHold& hold, const Closing& closing) {
  TRY(check_amount_count(hold, closing));
  if (closing.amounts.empty()) return {};
  for (std::size_t i = 0; i < hold.parts.size() && !closing.allow_overage; ++i) {
    const FoundHold::Part& part = hold.parts[i];
    if (closing.amounts[i] > part.units) {
      return core::exceeds_hold(part.limit, closing.amounts[i], part.units);
    }
  }
  return {};
}

Result<RedisStore::Answer> RedisStore::send_closing(std::string_view id, const FoundHold& hold,
                                                    const Closing& closing) {
  // Parts whose limit is gone, or for which nothing is held, have no meter.
  const Book known = book();
  std::vector<Charge> charges;
  for (const FoundHold::Part& part : hold.parts) {
    const KnownLimit* limit = known->find(part.limit);
    if (part.is_backed && limit != nullptr && limit->entry().born == part.born) {
      charges.push_back({part.limit, part.key, 0});
    }
  }
  const auto write = [&](const Meters& meters, Call& call) {
    call.arguments.emplace_back(closing.operation);
    call.arguments.push_back(std::to_string(meters.list.size()) + " " + std::to_string(hold.made_us) + " " +
                             std::to_string(meters.book->epoch()) + " " + retention_text() + " " +
                             std::to_string(closing.ttl_us));
    call.keys.push_back(record_key(id, closing.home));
    if (!hold.tag.empty() && !is_cluster_) call.keys.push_back(tag_key(hold.tag));
    call.arguments.emplace_back(id);
    for (std::size_t i = 0; i < hold.parts.size(); ++i) {
      const FoundHold::Part& part = hold.parts[i];
      const auto is_on = [&](const Charged& meter) {
        return part.is_backed && meter.limit->definition().name() == part.limit && meter.key == part.key &&
               meter.limit->entry().born == part.born;
      };
      const auto meter = std::find_if(meters.list.begin(), meters.list.end(), is_on);
      call.arguments.push_back(meter == meters.list.end() ? "0" : std::to_string(meter - meters.list.begin() + 1));
      call.arguments.push_back(closing.amounts.empty() ? "-" : std::to_string(closing.amounts[i]));
    }
  };
  return settle(charges, write);
}

Result<Settlement> RedisStore::close_hold(std::string_view id, const Closing& closing) {
  return is_cluster_ ? close_in_cluster(id, closing) : close_at_home(id, closing);
}

Result<Settlement> RedisStore::perform(const core::Commit& commit) {
  return close_hold(commit.id,
                    {.operation = "commit", .amounts = commit.amounts, .allow_overage = commit.allow_overage});
}

Result<Settlement> RedisStore::perform(const core::Cancel& cancel) {
  return close_hold(cancel.id, {.operation = "cancel"});
}

Result<Duration> RedisStore::perform(const core::Extend& extend) {
  const auto ttl_us = TRY(micros_of("ttl", extend.ttl));
  return close_hold(extend.id, {.operation = "extend", .ttl_us = static_cast<std::uint64_t>(ttl_us)})
      .map([&](const Settlement&) { return extend.ttl; });
}

Result<std::optional<HoldInfo>> RedisStore::perform(const core::FindHold& find) {
  const auto found = TRY(is_cluster_ ? find_in_cluster(find.id) : look_for_hold(find.id, {}));
  return found ? std::optional(found->info(find.id)) : std::nullopt;
}

Result<std::vector<std::string>> RedisStore::perform(const core::ListHolds& list) {
  const auto looked = TRY(look_at(list.meter));
  return looked.images[0]->access().hold_ids(list.count_max);
}

Result<std::vector<std::string>> RedisStore::perform(const core::ListTagged& list) {
  const std::string key = tag_key(list.tag);
  const std::string arguments[] = {"tag"};
  const auto reply = TRY(run_script(StoreScript::kLook, {&key, 1}, arguments));
  const auto now_us = TRY(saw(element(reply, 0)));
  const auto& fields = element(reply, 1).elements;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const auto expires_us = TRY(read_natural(fields[i + 1]).map_error(naming(key)));
    if (now_us < expires_us) ids.push_back(fields[i].text);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace mete::store::redis
