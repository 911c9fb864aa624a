// Takes by the short scripts, and takes that have arrived together: what a busy server does all day.

#include <algorithm>

#include "base/monotonic.h"
#include "engine/admission.h"
#include "store/redis/names.h"
#include "store/redis/plain_take.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

std::optional<Result<core::Verdict>> RedisStore::take_plainly(const Take& request, const Meters& meters) {
  const TimeBounds bounds = session_.clock.bounds();
  const bool may_be_plain = request.mode == Mode::kTake && request.id.empty() && request.usages.empty();
  if (!may_be_plain || bounds.earliest_us < kPlainEpochUs) return std::nullopt;
  PlainCall call;
  call.begin(bounds);
  const Instant asked_at = base::monotonic_now();
  for (const Charged& meter : meters.list) {
    const auto charge_us = meter.limit->plain_charge_us(meter.cost);
    if (!charge_us || long_takes_.has(meter.limit_name, meter.key, asked_at)) return std::nullopt;
    call.add({.limit = *meter.limit, .key = meter.key, .charge_us = *charge_us});
  }
  Batch batch;
  call.write(StoreScript::kCharge, batch);
  const auto reply = run(batch);
  if (!reply) return reply.error();
  if (reply->type != wire::RespType::kBulk) {
    // Which of several it was is not told.
    for (const Charged& meter : meters.list) long_takes_.note(meter.limit_name, meter.key, asked_at);
    return std::nullopt;
  }
  return read_plain_take(meters, reply->text, bounds);
}

Result<core::Verdict> RedisStore::read_plain_take(const Meters& meters, std::string_view text,
                                                  const TimeBounds& bounds) {
  PlainAnswer answer(text);
  const std::uint64_t now_us = bounds.believed_us(answer.now_us());
  session_.clock.raise(now_us);
  engine::MeterAccesses accesses;
  for (const Charged& meter : meters.list) {
    engine::MeterAccess& access = accesses.emplace_back();
    access.limit = &meter.limit->record();
    access.rule = &meter.limit->rule();
    access.cost = meter.cost;
    access.charges = meter.charges;
    access.moment = {instant_of(now_us), {}};
    access.state.bucket.set_full_at(
        core::bucket::now_ticks(access.rule->rule(), instant_of(std::max(answer.next().full_us(), now_us))));
  }
  const core::Verdict verdict = engine::admit(accesses, Mode::kTake);
  if (verdict.is_allowed == answer.is_denied()) return unreadable_record(meters.list[0].name, text);
  return in_clock_steps(verdict);
}

Result<core::Verdict> RedisStore::read_plain_charge(const KnownLimit& limit, const Charge& charge,
                                                    const PlainAnswer::Value& value, std::uint64_t now_us) {
  const core::Rule& rule = limit.rule().rule();
  core::State state;
  const core::Moment moment = limit.rule().moment(state, instant_of(now_us));
  if (rule.kind == Kind::kSliding) return read_sliding_charge(limit, charge, value, moment);
  if (rule.kind == Kind::kBucket) {
    state.bucket.set_full_at(core::bucket::now_ticks(rule, instant_of(std::max(value.full_us(), now_us))));
  } else if (rule.kind == Kind::kStock) {
    state.stock.used = static_cast<Amount>(value.number);
  } else {
    state.window = {moment.window.start, static_cast<Amount>(value.number)};
  }
  core::Verdict verdict;
  if (core::take(rule, state, charge.cost, moment, verdict) == value.is_denied) {
    return unreadable_record(meter_key(charge.limit, charge.key), std::to_string(value.number));
  }
  core::tell_standing(rule, state, moment, verdict);
  return in_clock_steps(verdict);
}

// A charge is in the state that is told, if it was made.
Result<core::Verdict> RedisStore::read_sliding_charge(const KnownLimit& limit, const Charge& charge,
                                                      const PlainAnswer::Value& value, const core::Moment& moment) {
  const core::Rule& rule = limit.rule().rule();
  const auto found = read_sliding(rule, value.state);
  if (!found) return unreadable_record(meter_key(charge.limit, charge.key), value.state);
  core::State state;
  state.sliding = *found;
  core::Verdict verdict{.is_allowed = !value.is_denied};
  if (verdict.is_allowed) {
    verdict.taken = charge.cost;
  } else if (core::take(rule, state, charge.cost, moment, verdict)) {
    return unreadable_record(meter_key(charge.limit, charge.key), value.state);
  }
  core::tell_standing(rule, state, moment, verdict);
  return in_clock_steps(verdict);
}

// What takes that have arrived together need on their way.
struct RedisStore::Together {
  struct Take {
    std::size_t index = 0;  // of its charge
    const KnownLimit* limit = nullptr;
    bool may_be_short = true;
    bool is_short = false;
    std::size_t command = 0;  // of the batch
  };

  std::vector<Take> takes;
  Batch batch;
  Replies replies;
  // Calls that are not in the batch yet, and the numbers of their takes.
  PlainCall plain;
  std::vector<std::size_t> plain_takes;
  CountCall counted{StoreScript::kCountEach};
  std::vector<std::size_t> counted_takes;
  CountCall sliding{StoreScript::kSlideEach};
  std::vector<std::size_t> sliding_takes;

  [[nodiscard]] std::size_t longest_call() const { return std::max({plain.size(), counted.size(), sliding.size()}); }

  void begin_calls(const TimeBounds& bounds, std::uint64_t now_us) {
    plain.begin({std::max(bounds.earliest_us, kPlainEpochUs), std::max(bounds.latest_us, kPlainEpochUs)});
    counted.begin(bounds, now_us);
    sliding.begin(bounds, now_us);
    plain_takes.clear();
    counted_takes.clear();
    sliding_takes.clear();
  }
  void write_calls() {
    for (const std::size_t take : plain_takes) takes[take].command = batch.size();
    if (!plain_takes.empty()) plain.write(StoreScript::kChargeEach, batch);
    for (const std::size_t take : counted_takes) takes[take].command = batch.size();
    if (!counted_takes.empty()) counted.write(batch);
    for (const std::size_t take : sliding_takes) takes[take].command = batch.size();
    if (!sliding_takes.empty()) sliding.write(batch);
  }
};

// They leave in one batch; those that turn out to be of other forms than a short script knows leave again in a second.
void RedisStore::take_each(const core::TakeEach& takes) {
  Together together;
  const Book known = book();
  const KnownLimit* limit = nullptr;
  const Instant asked_at = base::monotonic_now();
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    const Charge& charge = takes.charges[i];
    if (limit == nullptr || limit->definition().name() != charge.limit) limit = known->find(charge.limit);
    if (limit == nullptr) {
      takes.answers[i] = take_alone({.charges = {&charge, 1}});  // which asks whether there is such a limit by now
    } else {
      const bool is_long = long_takes_.has(charge.limit, charge.key, asked_at);
      together.takes.push_back({.index = i, .limit = limit, .may_be_short = !is_long});
    }
  }
  while (!together.takes.empty()) {
    const TimeBounds bounds = session_.clock.bounds();
    write_each(together, {known, takes.charges, bounds});
    link_->run(together.batch, together.replies);
    read_each(together, {known, takes.charges, bounds}, takes.answers);
  }
}

// Takes on one meter stay in their order: they are in one call, or behind each other.
void RedisStore::write_each(Together& together, const EachContext& context) const {
  together.batch.clear();
  const std::uint64_t now_us = us_of(now());
  const std::size_t call_size_max = link_->is_cluster() ? 1 : kCallMetersMax;
  together.begin_calls(context.bounds, now_us);
  for (std::size_t i = 0; i < together.takes.size(); ++i) {
    Together::Take& take = together.takes[i];
    const Charge& charge = context.charges[take.index];
    const bool may_be_plain = take.may_be_short && context.bounds.earliest_us >= kPlainEpochUs;
    const auto charge_us = may_be_plain ? take.limit->plain_charge_us(charge.cost) : std::nullopt;
    const bool is_counted = take.may_be_short && take.limit->is_counted();
    const bool is_sliding = take.may_be_short && take.limit->is_sliding(charge.cost);
    take.is_short = charge_us || is_counted || is_sliding;
    if (!take.is_short || together.longest_call() == call_size_max) {
      together.write_calls();
      together.begin_calls(context.bounds, now_us);
    }
    if (charge_us) {
      together.plain.add({.limit = *take.limit, .key = charge.key, .charge_us = *charge_us});
      together.plain_takes.push_back(i);
    } else if (is_counted) {
      together.counted.add(*take.limit, charge);
      together.counted_takes.push_back(i);
    } else if (is_sliding) {
      together.sliding.add(*take.limit, charge);
      together.sliding_takes.push_back(i);
    } else {
      take.command = together.batch.size();
      add_take({.charges = {&charge, 1}}, meters_of(context.book, *take.limit, charge), now_us, together.batch);
    }
  }
  together.write_calls();
}

// Leaves the takes that are to be sent again.
void RedisStore::read_each(Together& together, const EachContext& context, std::span<Result<core::Verdict>> answers) {
  std::vector<std::optional<PlainAnswer>> told(together.batch.size());
  std::size_t again = 0;
  for (std::size_t i = 0; i < together.takes.size(); ++i) {
    Together::Take take = together.takes[i];
    const Charge& charge = context.charges[take.index];
    const Result<wire::RespValue>& reply = together.replies[take.command];
    std::optional<PlainAnswer>& answer = told[take.command];
    if (!answer && take.is_short && reply && reply->type == wire::RespType::kBulk) answer.emplace(reply->text);
    const bool is_sliding = take.limit->rule().rule().kind == Kind::kSliding;
    const auto value = !answer      ? PlainAnswer::Value{.is_plain = false}
                       : is_sliding ? answer->next_state()
                                    : answer->next();
    if (value.is_plain) {
      const std::uint64_t now_us = context.bounds.believed_us(answer->now_us());
      session_.clock.raise(now_us);
      answers[take.index] = read_plain_charge(*take.limit, charge, value, now_us);
    } else if (take.is_short && reply && !reply->is_error()) {
      take.may_be_short = false;
      long_takes_.note(charge.limit, charge.key, base::monotonic_now());
      together.takes[again++] = take;
    } else {
      answers[take.index] = read_other({.charges = {&charge, 1}}, meters_of(context.book, *take.limit, charge), reply);
    }
  }
  together.takes.resize(again);
}

Result<core::Verdict> RedisStore::read_other(const Take& request, const Meters& meters,
                                             const Result<wire::RespValue>& reply) {
  if (!reply) return reply.error();
  auto answer = reply->is_error() ? std::nullopt : read_take(request, meters, *reply);
  return answer ? std::move(*answer) : take_alone(request);  // with time for what stands in its way
}

RedisStore::Meters RedisStore::meters_of(const Book& book, const KnownLimit& limit, const Charge& charge) {
  Meters meters{.book = book, .list = {}};
  Charged& meter = add_charge(meters.list, charge, 0);
  meter.limit = &limit;
  meter.name = meter_key(charge.limit, charge.key);
  return meters;
}

}  // namespace mete::store::redis
