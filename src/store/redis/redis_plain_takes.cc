// Takes on buckets in their plain form, and takes that have arrived together: what a busy server does all day.

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
        core::bucket::now_ticks(access.rule->rule(), instant_of(std::max(answer.next().full_us, now_us))));
  }
  const core::Verdict verdict = engine::admit(accesses, Mode::kTake);
  if (verdict.is_allowed == answer.is_denied()) return unexpected_reply(text);
  return in_clock_steps(verdict);
}

Result<core::Verdict> RedisStore::read_plain_charge(const KnownLimit& limit, Amount cost,
                                                    const PlainAnswer::Value& value, std::uint64_t now_us) {
  const core::Moment moment{instant_of(now_us), {}};
  const core::Rule& rule = limit.rule().rule();
  core::State state;
  state.bucket.set_full_at(core::bucket::now_ticks(rule, instant_of(std::max(value.full_us, now_us))));
  core::Verdict verdict{.is_allowed = !value.is_denied};
  const bool is_taken = core::take(rule, state, cost, moment, verdict);
  if (is_taken == value.is_denied) return unexpected_reply("a bucket");
  verdict.violated = is_taken ? 0 : 1;
  core::tell_standing(rule, state, moment, verdict);
  return in_clock_steps(verdict);
}

// What takes that have arrived together need on their way.
struct RedisStore::Together {
  struct Take {
    std::size_t index = 0;  // of its charge
    const KnownLimit* limit = nullptr;
    bool is_plain = false;
    std::size_t command = 0;  // of the batch
  };

  std::vector<Take> takes;
  Batch batch;
  Replies replies;
  PlainCall call;
};

// They leave in one batch; those that turn out to be of other forms than the plain one leave again in a second.
Result<void> RedisStore::perform(const core::TakeEach& takes) {
  Together together;
  const Book known = book();
  const KnownLimit* limit = nullptr;
  together.takes.clear();
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    if (limit == nullptr || limit->definition().name() != takes.charges[i].limit)
      limit = known->find(takes.charges[i].limit);
    if (limit == nullptr) {
      takes.answers[i] =
          perform(Take{.charges = takes.charges.subspan(i, 1)});  // which asks whether there is such a limit by now
    } else {
      together.takes.push_back({.index = i, .limit = limit, .is_plain = true});
    }
  }
  while (!together.takes.empty()) {
    const std::uint64_t floor_us = session_.clock.floor_us();
    write_each(together, {known, takes.charges, floor_us});
    link_->run(together.batch, together.replies);
    read_each(together, {known, takes.charges, floor_us}, takes.answers);
  }
  return {};
}

void RedisStore::write_each(Together& together, const EachContext& context) const {
  together.batch.clear();
  together.call.begin(std::max(context.floor_us, kPlainEpochUs));
  const std::size_t call_size_max = link_->is_cluster() ? 1 : PlainCall::kMetersMax;
  const auto end_call = [&] {
    if (together.call.size() == 0) return;
    together.call.write(StoreScript::kChargeEach, together.batch);
    together.call.begin(context.floor_us);
  };
  for (Together::Take& take : together.takes) {
    const Charge& charge = context.charges[take.index];
    const bool may_be_plain = take.is_plain && context.floor_us >= kPlainEpochUs;
    const auto charge_us = may_be_plain ? take.limit->plain_charge_us(charge.cost) : std::nullopt;
    take.is_plain = charge_us.has_value();
    if (!take.is_plain || together.call.size() == call_size_max) end_call();
    take.command = together.batch.size();
    if (take.is_plain) {
      together.call.add({.limit = *take.limit, .key = charge.key, .charge_us = *charge_us});
    } else {
      add_take({.charges = {&charge, 1}}, meters_of(context.book, *take.limit, charge), us_of(now()), together.batch);
    }
  }
  end_call();
}

// Leaves the takes that are to be sent again.
void RedisStore::read_each(Together& together, const EachContext& context, std::span<Result<core::Verdict>> answers) {
  std::size_t again = 0;
  std::optional<PlainAnswer> plain;  // of the present command
  for (std::size_t i = 0; i < together.takes.size(); ++i) {
    Together::Take take = together.takes[i];
    const Charge& charge = context.charges[take.index];
    const Result<wire::RespValue>& reply = together.replies[take.command];
    if (i == 0 || take.command != together.takes[i - 1].command) {
      plain.reset();
      if (take.is_plain && reply && reply->type == wire::RespType::kBulk) plain.emplace(reply->text);
    }
    const auto value = plain ? plain->next() : PlainAnswer::Value{.is_plain = false};
    if (value.is_plain) {
      const std::uint64_t now_us = std::max(plain->now_us(), context.floor_us);
      session_.clock.raise(now_us);
      answers[take.index] = read_plain_charge(*take.limit, charge.cost, value, now_us);
    } else if (take.is_plain && reply && !reply->is_error()) {
      take.is_plain = false;
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
  return answer ? std::move(*answer) : perform(request);  // with time for what stands in its way
}

RedisStore::Meters RedisStore::meters_of(const Book& book, const KnownLimit& limit, const Charge& charge) {
  Meters meters{.book = book, .list = {}};
  Charged& meter = add_charge(meters.list, charge, 0);
  meter.limit = &limit;
  meter.name = meter_key(charge.limit, charge.key);
  return meters;
}

}  // namespace mete::store::redis
