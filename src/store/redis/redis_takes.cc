// Takes, and the other operations on meters.

#include <algorithm>

#include "base/check.h"
#include "core/refusals.h"
#include "engine/admission.h"
#include "store/open_admission.h"
#include "store/redis/names.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

namespace {

char letter_of(Mode mode) {
  switch (mode) {
    case Mode::kUpTo:
      return 'u';
    case Mode::kForce:
      return 'f';
    case Mode::kTake:
    case Mode::kPeek:
      return 't';
  }
  __builtin_unreachable();
}

Parameters parameters_of(const TakeRequest& request) {
  return {.kind = 't', .mode = letter_of(request.mode), .charges = request.charges};
}

}  // namespace

Result<core::Verdict> RedisStore::do_take(const TakeRequest& request) {
  if (request.mode == Mode::kPeek) return peek(request);
  return is_cluster_ ? take_in_cluster(request) : take_at_home(request);
}

Result<core::Verdict> RedisStore::take_at_home(const TakeRequest& request) {
  std::uint64_t window_us = 0;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto meters = merge(request.charges);
    if (!meters) {
      // An answer that was given outlives its limit.
      const auto earlier = request.id.empty() ? std::nullopt : do_recall(request);
      if (!earlier || !*earlier) return tl::make_unexpected(earlier ? meters.error() : earlier.error());
      return **earlier;
    }
    // First as what nearly every take is.
    if (auto verdict = take_plainly(request, *meters)) return std::move(*verdict);
    Batch batch;
    add_take(request, *meters, window_us != 0 ? window_us : us_of(now()), batch);
    const auto reply = run(batch);
    if (!reply) return admit_open(request, *meters, reply.error());
    auto answer = read_take(request, *meters, *reply);
    if (answer) return std::move(*answer);
    if (auto mended = mend(*reply, *meters, window_us); !mended) return tl::make_unexpected(mended.error());
  }
  return tl::make_unexpected(too_busy());
}

void RedisStore::add_take(const TakeRequest& request, const Meters& meters, std::uint64_t window_us,
                          Batch& batch) const {
  const std::string fingerprint = request.id.empty() ? "-" : fingerprint_of(parameters_of(request));
  std::vector<std::string> arguments = {
      floor_text(), std::string(1, letter_of(request.mode)) + (request.usages.empty() ? " 0 " : " 1 ") + fingerprint +
                        " " + retention_text() + " " + std::to_string(meters.book->epoch()) +
                        (request.remembers_denial ? " 1" : " 0")};
  for (const Charged& meter : meters.list) arguments.push_back(meter.terms(window_us));
  std::vector<std::string_view> words;
  for (const Charged& meter : meters.list) words.push_back(meter.name);
  const std::string id = request.id.empty() ? std::string() : record_key(request.id, meters.list[0].key);
  if (!id.empty()) words.push_back(id);
  const std::size_t keys = words.size();
  words.insert(words.end(), arguments.begin(), arguments.end());
  batch.add_script(meters.list[0].name, script(StoreScript::kTake), keys, words);
}

// The answer to a take; none if something stands in its way.
std::optional<Result<core::Verdict>> RedisStore::read_take(const TakeRequest& request, const Meters& meters,
                                                           const wire::RespValue& reply) {
  if (reply.elements.empty()) return std::nullopt;
  session_.clock.raise(std::stoull(reply.elements[1].text));
  const std::string& what = reply.elements[0].text;
  if (what == "mismatch") return tl::make_unexpected(core::id_mismatch(request.id));
  if (what == "again") return read_decision(reply.elements[2], meters, request.mode, {});
  if (what != "ok") return std::nullopt;
  return read_decision(reply, meters, request.mode, request.usages);
}

// A decision that a script has made, with how the meters stand. One that was made earlier is told by the terms of then.
Result<core::Verdict> RedisStore::read_decision(const wire::RespValue& reply, const Meters& meters, Mode mode,
                                                std::span<Usage> usages) {
  const auto images = read_meters(reply, meters, mode == Mode::kUpTo);
  if (!images) return tl::make_unexpected(images.error());
  engine::MeterAccesses accesses;
  core::Verdict verdict{.is_allowed = reply.elements[2].integer == 1};
  for (std::size_t i = 0; i < images->size(); ++i) {
    const engine::MeterAccess& access = accesses.emplace_back((*images)[i]->access());
    if (reply.elements[3 + i].elements[0].integer == 1) verdict.violated |= access.charges;
    if (verdict.is_allowed) verdict.taken += access.cost;
  }
  if (!verdict.is_allowed) verdict.retry_after = engine::admission::longest_wait(accesses);
  verdict = in_clock_steps(verdict);
  const engine::MeterAccess& tightest = *engine::admission::tightest(accesses);
  core::tell_standing(tightest.rule->rule(), tightest.state, tightest.moment, verdict);
  engine::tell_usages(accesses, usages);
  return verdict;
}

engine::MeterAccesses RedisStore::accesses_of(const Images& images) {
  engine::MeterAccesses accesses;
  for (const auto& image : images) accesses.push_back(image->access());
  return accesses;
}

// `is_reduced`: what was charged is what the script says, and not what was asked for.
Result<RedisStore::Images> RedisStore::read_meters(const wire::RespValue& reply, const Meters& meters,
                                                   bool is_reduced) {
  const std::uint64_t now_us = std::stoull(reply.elements[1].text);
  Images images;
  for (std::size_t i = 0; i < meters.list.size(); ++i) {
    const Charged& meter = meters.list[i];
    const auto& told = reply.elements[3 + i].elements;
    auto image = MeterImage::told(meter.limit_name, meter.key, told[2].text, told[3], now_us);
    if (!image) return tl::make_unexpected(image.error());
    (*image)->access().cost = is_reduced ? static_cast<Amount>(std::stoll(told[1].text)) : meter.cost;
    (*image)->access().charges = meter.charges;
    images.push_back(std::move(*image));
  }
  return images;
}

// While Redis cannot be reached: denied by an error, unless each of the limits says that it is open then.
Result<core::Verdict> RedisStore::admit_open(const TakeRequest& request, const Meters& meters, const Error& error) {
  Amount taken = 0;
  Amount least = kAmountMax;
  for (const Charged& meter : meters.list) {
    const bool is_open = meter.limit->definition().on_fail() == OnFail::kOpen;
    if (!is_open || error.code != ErrorCode::kUnavailable) return tl::make_unexpected(error);
    taken += meter.cost;
    least = std::min(least, meter.limit->rule().rule().capacity);
  }
  unrecorded_admissions_.fetch_add(1, std::memory_order_relaxed);
  return admit_as_fresh(taken, least, request.usages);
}

Result<std::optional<wire::RespValue>> RedisStore::recall_answer(const Identity& identity) {
  const std::string key = record_key(identity.id, identity.home);
  const std::string arguments[] = {"answer", std::to_string(book()->epoch()), retention_text(), floor_text()};
  auto reply = run_script(StoreScript::kLook, {&key, 1}, arguments);
  if (!reply) return tl::make_unexpected(reply.error());
  session_.clock.raise(std::stoull(reply->elements[0].text));
  if (reply->elements.size() < 3) return std::nullopt;
  if (reply->elements[1].text != identity.fingerprint) return tl::make_unexpected(core::id_mismatch(identity.id));
  return std::move(reply->elements[2]);
}

Result<std::optional<core::Verdict>> RedisStore::do_recall(const TakeRequest& request) {
  const auto answer = recall_answer(
      {.id = request.id, .fingerprint = fingerprint_of(parameters_of(request)), .home = request.charges[0].key});
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return std::nullopt;
  const auto verdict = read_decision(**answer, merge_names(request.charges), request.mode, {});
  if (!verdict) return tl::make_unexpected(verdict.error());
  return *verdict;
}

Result<core::Verdict> RedisStore::peek(const TakeRequest& request) {
  const auto looked = look(request.charges);
  if (!looked) return tl::make_unexpected(looked.error());
  engine::MeterAccesses accesses = accesses_of(looked->images);
  const core::Verdict verdict = engine::admit(accesses, Mode::kTake);
  engine::tell_usages(accesses, request.usages);
  return in_clock_steps(verdict);
}

Result<Settlement> RedisStore::do_give(std::span<const Charge> charges, std::string_view id) {
  return is_cluster_ ? give_in_cluster(charges, id) : give_at_home(charges, id);
}

Result<Settlement> RedisStore::give_at_home(std::span<const Charge> charges, std::string_view id) {
  const std::string fingerprint = id.empty() ? "-" : fingerprint_of({.kind = 'g', .charges = charges});
  const auto write = [&](const Meters& meters, Call& call) {
    call.arguments.push_back("give");
    call.arguments.push_back(std::to_string(meters.list.size()) + " 0 " + fingerprint + " " + retention_text() + " " +
                             std::to_string(meters.book->epoch()));
    if (!id.empty()) call.keys.push_back(record_key(id, charges[0].key));
  };
  const auto answer = settle_once(charges, {.id = id, .fingerprint = fingerprint, .home = charges[0].key}, write);
  if (!answer) return tl::make_unexpected(answer.error());
  return read_settlement(*answer);
}

// As settle(), for operations with an id: an answer that was given outlives its limits.
Result<RedisStore::Answer> RedisStore::settle_once(std::span<const Charge> charges, const Identity& identity,
                                                   const WriteCall& write) {
  auto answer = settle(charges, write);
  if (answer) {
    if (answer->reply.elements[0].text == "mismatch") return tl::make_unexpected(core::id_mismatch(identity.id));
    return answer;
  }
  if (answer.error().code != ErrorCode::kNoLimit || identity.id.empty()) return answer;
  auto earlier = recall_answer(identity);
  if (!earlier) return tl::make_unexpected(earlier.error());
  if (!*earlier) return answer;
  return Answer{merge_names(charges), std::move(**earlier)};
}

Result<Settlement> RedisStore::read_settlement(const Answer& answer) {
  const auto images = read_meters(answer.reply, answer.meters, false);
  if (!images) return tl::make_unexpected(images.error());
  engine::MeterAccesses accesses = accesses_of(*images);
  Amount returned = 0;
  for (const wire::RespValue& units : answer.reply.elements[2].elements) returned += std::stoll(units.text);
  return engine::settlement_of(returned, accesses);
}

Result<Usage> RedisStore::do_usage(const MeterName& meter) {
  const auto looked = look_at(meter);
  if (!looked) return tl::make_unexpected(looked.error());
  return looked->images[0]->access().usage();
}

Result<Reconciliation> RedisStore::do_reconcile(const MeterName& meter, Amount used) {
  const Charge charge{.limit = meter.limit, .key = meter.key, .cost = used};
  const auto write = [](const Meters&, Call& call) {
    call.arguments.push_back("reconcile");
    call.arguments.push_back("1");
  };
  const auto answer = settle({&charge, 1}, write);
  if (!answer) return tl::make_unexpected(answer.error());
  return Reconciliation{.used_before = static_cast<Amount>(std::stoll(answer->reply.elements[2].text)),
                        .used_now = used};
}

// Runs settle.lua until nothing stands in its way. `write` adds the operation and its options, then keys and arguments
// behind those of the meters.
Result<RedisStore::Answer> RedisStore::settle(std::span<const Charge> charges, const WriteCall& write) {
  std::uint64_t window_us = 0;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto meters = merge(charges);
    if (!meters) return tl::make_unexpected(meters.error());
    Batch batch;
    add_settle(*meters, write, window_us != 0 ? window_us : us_of(now()), batch);
    auto reply = run(batch);
    if (!reply) return tl::make_unexpected(reply.error());
    session_.clock.raise(std::stoull(reply->elements[1].text));
    if (reply->elements[0].text == "again") return Answer{std::move(*meters), std::move(reply->elements[2])};
    if (!stands_in_the_way(*reply)) return Answer{std::move(*meters), std::move(*reply)};
    if (auto mended = mend(*reply, *meters, window_us); !mended) return tl::make_unexpected(mended.error());
  }
  return tl::make_unexpected(too_busy());
}

void RedisStore::add_settle(const Meters& meters, const WriteCall& write, std::uint64_t window_us, Batch& batch) const {
  Call call;
  call.arguments.push_back(floor_text());
  write(meters, call);
  std::vector<std::string> terms;
  for (const Charged& meter : meters.list) terms.push_back(meter.terms(window_us));
  std::vector<std::string_view> words;
  for (const Charged& meter : meters.list) words.push_back(meter.name);
  words.insert(words.end(), call.keys.begin(), call.keys.end());
  const std::size_t keys = words.size();
  words.insert(words.end(), call.arguments.begin(), call.arguments.begin() + 3);
  words.insert(words.end(), terms.begin(), terms.end());
  words.insert(words.end(), call.arguments.begin() + 3, call.arguments.end());
  batch.add_script(words[0], script(StoreScript::kSettle), keys, words);
}

}  // namespace mete::store::redis
