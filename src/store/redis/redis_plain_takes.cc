// Takes by the short scripts, and takes that have arrived together: what a busy server does all day.

#include <algorithm>

#include "engine/admission.h"
#include "store/redis/names.h"
#include "store/redis/plain_take.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

std::optional<Result<core::Verdict>> RedisStore::take_plainly(const Take& request, const Meters& meters) {
  const std::uint64_t floor_us = session_.clock.floor_us();
  const bool may_be_plain = request.mode == Mode::kTake && request.id.empty() && request.usages.empty();
  if (!may_be_plain || floor_us < kPlainEpochUs) return std::nullopt;
  PlainCall call;
  call.begin(floor_us);
  for (const Charged& meter : meters.list) {
    const auto charge_us = meter.limit->plain_charge_us(meter.cost);
    if (!charge_us) return std::nullopt;
    call.add({.limit = *meter.limit, .key = meter.key, .charge_us = *charge_us});
  }
  Batch batch;
  call.write(StoreScript::kCharge, batch);
  const auto reply = run(batch);
  if (!reply) return reply.error();
  if (reply->type != wire::RespType::kBulk) return std::nullopt;
  return read_plain_take(meters, reply->text, floor_us);
}

Result<core::Verdict> RedisStore::read_plain_take(const Meters& meters, std::string_view text, std::uint64_t floor_us) {
  PlainAnswer answer(text);
  const std::uint64_t now_us = std::max(answer.now_us(), floor_us);
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
  if (verdict.is_allowed == answer.is_denied()) return unexpected_reply(text);
  return in_clock_steps(verdict);
}

Result<core::Verdict> RedisStore::read_plain_charge(const KnownLimit& limit, Amount cost,
                                                    const PlainAnswer::Value& value, std::uint64_t now_us) {
  const core::Rule& rule = limit.rule().rule();
  core::State state;
  const core::Moment moment = limit.rule().moment(state, instant_of(now_us));
  if (rule.kind == Kind::kBucket) {
    state.bucket.set_full_at(core::bucket::now_ticks(rule, instant_of(std::max(value.full_us(), now_us))));
  } else if (rule.kind == Kind::kStock) {
    state.stock.used = static_cast<Amount>(value.number);
  } else {
    state.window = {moment.window.start, static_cast<Amount>(value.number)};
  }
  core::Verdict verdict;
  if (core::take(rule, state, cost, moment, verdict) == value.is_denied) {
    return unexpected_reply(std::to_string(value.number));
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
  CountCall counted;
  std::vector<std::size_t> counted_takes;

  void begin_calls(std::uint64_t floor_us, std::uint64_t now_us) {
    plain.begin(std::max(floor_us, kPlainEpochUs));
    counted.begin(floor_us, now_us);
    plain_takes.clear();
    counted_takes.clear();
  }
  void write_calls() {
    for (const std::size_t take : plain_takes) takes[take].command = batch.size();
    if (!plain_takes.empty()) plain.write(StoreScript::kChargeEach, batch);
    for (const std::size_t take : counted_takes) takes[take].command = batch.size();
    if (!counted_takes.empty()) counted.write(batch);
  }
};

// They leave in one batch; those that turn out to be of other forms than a short script knows leave again in a second.
void RedisStore::take_each(const core::TakeEach& takes) {
  Together together;
  const Book known = book();
  const KnownLimit* limit = nullptr;
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    const Charge& charge = takes.charges[i];
    if (limit == nullptr || limit->definition().name() != charge.limit) limit = known->find(charge.limit);
    if (limit == nullptr) {
      takes.answers[i] = take_alone({.charges = {&charge, 1}});  // which asks whether there is such a limit by now
    } else {
      together.takes.push_back({.index = i, .limit = limit});
    }
  }
  while (!together.takes.empty()) {
    const std::uint64_t floor_us = session_.clock.floor_us();
    write_each(together, {known, takes.charges, floor_us});
    link_->run(together.batch, together.replies);
    read_each(together, {known, takes.charges, floor_us}, takes.answers);
  }
}

// Takes on one meter stay in their order: they are in one call, or behind each other.
void RedisStore::write_each(Together& together, const EachContext& context) const {
  together.batch.clear();
  const std::uint64_t now_us = us_of(now());
  const std::size_t call_size_max = link_->is_cluster() ? 1 : kCallMetersMax;
  together.begin_calls(context.floor_us, now_us);
  for (std::size_t i = 0; i < together.takes.size(); ++i) {
    Together::Take& take = together.takes[i];
    const Charge& charge = context.charges[take.index];
    const bool may_be_plain = take.may_be_short && context.floor_us >= kPlainEpochUs;
    const auto charge_us = may_be_plain ? take.limit->plain_charge_us(charge.cost) : std::nullopt;
    const bool is_counted = take.may_be_short && take.limit->is_counted();
    take.is_short = charge_us || is_counted;
    if (!take.is_short || std::max(together.plain.size(), together.counted.size()) == call_size_max) {
      together.write_calls();
      together.begin_calls(context.floor_us, now_us);
    }
    if (charge_us) {
      together.plain.add({.limit = *take.limit, .key = charge.key, .charge_us = *charge_us});
      together.plain_takes.push_back(i);
    } else if (is_counted) {
      together.counted.add(*take.limit, charge);
      together.counted_takes.push_back(i);
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
    const auto value = answer ? answer->next() : PlainAnswer::Value{.is_plain = false};
    if (value.is_plain) {
      const std::uint64_t now_us = std::max(answer->now_us(), context.floor_us);
      session_.clock.raise(now_us);
      answers[take.index] = read_plain_charge(*take.limit, charge.cost, value, now_us);
    } else if (take.is_short && reply && !reply->is_error()) {
      take.may_be_short = false;
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
