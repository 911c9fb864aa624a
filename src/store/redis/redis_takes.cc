// Takes, and the other operations on meters.

#include <algorithm>

#include "base/check.h"
#include "base/try.h"
#include "core/refusals.h"
#include "engine/admission.h"
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

Parameters parameters_of(const Take& request) {
  return {.kind = 't', .mode = letter_of(request.mode), .charges = request.charges};
}

}  // namespace

Result<core::Verdict> RedisStore::perform(const core::Take& take) {
  if (take.mode == Mode::kPeek) return peek(take);
  if (!is_lone(take)) return take_alone(take);
  if (is_cluster_) {
    // By the short scripts, too; but takes of several callers are of several nodes, and need not wait for each other.
    Result<core::Verdict> answer;
    take_each({.charges = take.charges, .answers = {&answer, 1}});
    return answer;
  }
  return lone_takes_.join(take.charges[0], [this](const core::TakeEach& takes) { take_each(takes); });
}

Result<core::Verdict> RedisStore::take_at_home(const Take& request) {
  std::uint64_t window_us = 0;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto meters = merge(request.charges);
    if (!meters) {
      // An answer that was given outlives its limit.
      const auto earlier = request.id.empty() ? std::nullopt : recall_at_home(request);
      if (!earlier.has_value() || !*earlier) return earlier.has_value() ? meters.error() : earlier.error();
      return **earlier;
    }
    // First as what nearly every take is.
    if (auto verdict = take_plainly(request, *meters)) return std::move(*verdict);
    Batch batch;
    add_take(request, *meters, window_us != 0 ? window_us : us_of(now()), batch);
    const auto reply = TRY(run(batch));
    auto answer = read_take(request, *meters, reply);
    if (answer) return std::move(*answer);
    TRY(mend(reply, *meters, window_us));
  }
  return too_busy();
}

void RedisStore::add_take(const Take& request, const Meters& meters, std::uint64_t window_us, Batch& batch) const {
  const std::string fingerprint = request.id.empty() ? "-" : fingerprint_of(parameters_of(request));
  std::vector<std::string> arguments = {
      session_.bounds_text(), std::string(1, letter_of(request.mode)) + (request.usages.empty() ? " 0 " : " 1 ") +
                                  fingerprint + " " + retention_text() + " " + std::to_string(meters.book->epoch()) +
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
std::optional<Result<core::Verdict>> RedisStore::read_take(const Take& request, const Meters& meters,
                                                           const wire::RespValue& reply) {
  if (reply.elements.empty()) return std::nullopt;
  if (const auto seen = saw(element(reply, 1)); !seen) return seen.error();
  const std::string& what = reply.elements[0].text;
  if (what == "mismatch") return core::id_mismatch(request.id);
  if (what == "again") {
    return read_decision(element(reply, 2), meters, request.mode, {})
        .map_error(naming(record_key(request.id, meters.list[0].key)));
  }
  if (what != "ok") return std::nullopt;
  return read_decision(reply, meters, request.mode, request.usages);
}

// A decision that a script has made, with how the meters stand. One that was made earlier is told by the terms of then.
Result<core::Verdict> RedisStore::read_decision(const wire::RespValue& reply, const Meters& meters, Mode mode,
                                                std::span<Usage> usages) {
  const bool is_decision = element(reply, 0).text == "ok" && element(reply, 2).type == wire::RespType::kInteger;
  if (!is_decision) return unexpected_reply("something as the answer to an operation");
  const auto images = TRY(read_meters(reply, meters, mode == Mode::kUpTo));
  engine::MeterAccesses accesses;
  core::Verdict verdict{.is_allowed = element(reply, 2).integer == 1};
  for (std::size_t i = 0; i < images.size(); ++i) {
    const engine::MeterAccess& access = accesses.emplace_back(images[i]->access());
    if (element(element(reply, 3 + i), 0).integer == 1) verdict.violated |= access.charges;
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
  const auto now_us = TRY(read_natural(element(reply, 1)));
  Images images;
  for (std::size_t i = 0; i < meters.list.size(); ++i) {
    const Charged& meter = meters.list[i];
    const wire::RespValue& told = element(reply, 3 + i);
    auto image = TRY(MeterImage::told(meter.limit_name, meter.key, element(told, 2).text, element(told, 3), now_us)
                         .map_error(naming(meter.name)));
    image->access().cost = meter.cost;
    if (is_reduced) image->access().cost = TRY(read_units(element(told, 1)));
    image->access().charges = meter.charges;
    images.push_back(std::move(image));
  }
  return images;
}

Result<std::optional<wire::RespValue>> RedisStore::recall_answer(const Identity& identity) {
  const std::string key = record_key(identity.id, identity.home);
  const std::string arguments[] = {"answer", std::to_string(book()->epoch()), retention_text(), session_.bounds_text()};
  auto reply = TRY(run_script(StoreScript::kLook, {&key, 1}, arguments));
  TRY(saw(element(reply, 0)));
  if (reply.elements.size() < 3) return std::nullopt;
  if (reply.elements[1].text != identity.fingerprint) return core::id_mismatch(identity.id);
  return std::move(reply.elements[2]);
}

Result<std::optional<core::Verdict>> RedisStore::perform(const core::Recall& recall) {
  return is_cluster_ ? recall_in_cluster(recall.take) : recall_at_home(recall.take);
}

Result<std::optional<core::Verdict>> RedisStore::recall_at_home(const Take& request) {
  const std::string fingerprint = fingerprint_of(parameters_of(request));
  const auto answer =
      TRY(recall_answer({.id = request.id, .fingerprint = fingerprint, .home = request.charges[0].key}));
  if (!answer) return std::nullopt;
  const auto verdict = TRY(read_decision(*answer, merge_names(request.charges), request.mode, {})
                               .map_error(naming(record_key(request.id, request.charges[0].key))));
  return verdict;
}

Result<core::Verdict> RedisStore::peek(const Take& request) {
  const auto looked = TRY(look(request.charges));
  engine::MeterAccesses accesses = accesses_of(looked.images);
  const core::Verdict verdict = engine::admit(accesses, Mode::kTake);
  engine::tell_usages(accesses, request.usages);
  return in_clock_steps(verdict);
}

Result<Settlement> RedisStore::perform(const core::Give& give) {
  return is_cluster_ ? give_in_cluster(give.charges, give.id) : give_at_home(give.charges, give.id);
}

Result<Settlement> RedisStore::give_at_home(std::span<const Charge> charges, std::string_view id) {
  const std::string fingerprint = id.empty() ? "-" : fingerprint_of({.kind = 'g', .charges = charges});
  const auto write = [&](const Meters& meters, Call& call) {
    call.arguments.emplace_back("give");
    call.arguments.push_back(std::to_string(meters.list.size()) + " 0 " + fingerprint + " " + retention_text() + " " +
                             std::to_string(meters.book->epoch()));
    if (!id.empty()) call.keys.push_back(record_key(id, charges[0].key));
  };
  const auto answer = TRY(settle_once(charges, {.id = id, .fingerprint = fingerprint, .home = charges[0].key}, write));
  auto given = read_settlement(answer);
  return id.empty() ? given : std::move(given).map_error(naming(record_key(id, charges[0].key)));
}

// As settle(), for operations with an id: an answer that was given outlives its limits.
Result<RedisStore::Answer> RedisStore::settle_once(std::span<const Charge> charges, const Identity& identity,
                                                   const WriteCall& write) {
  auto answer = settle(charges, write);
  if (answer) {
    if (element(answer->reply, 0).text == "mismatch") return core::id_mismatch(identity.id);
    return answer;
  }
  if (answer.error().code != ErrorCode::kNoLimit || identity.id.empty()) return answer;
  auto earlier = TRY(recall_answer(identity));
  if (!earlier) return answer;
  return Answer{merge_names(charges), std::move(*earlier)};
}

Result<Settlement> RedisStore::read_settlement(const Answer& answer) {
  const auto images = TRY(read_meters(answer.reply, answer.meters, false));
  engine::MeterAccesses accesses = accesses_of(images);
  Amount returned = 0;
  for (const wire::RespValue& units : element(answer.reply, 2).elements) returned += TRY(read_units(units));
  return engine::settlement_of(returned, accesses);
}

Result<Usage> RedisStore::perform(const core::ReadUsage& read) {
  const auto looked = TRY(look_at(read.meter));
  return looked.images[0]->access().usage();
}

Result<Reconciliation> RedisStore::perform(const core::Reconcile& reconcile) {
  const Charge charge{.limit = reconcile.meter.limit, .key = reconcile.meter.key, .cost = reconcile.used};
  const auto write = [](const Meters&, Call& call) {
    call.arguments.emplace_back("reconcile");
    call.arguments.emplace_back("1");
  };
  const auto answer = TRY(settle({&charge, 1}, write));
  const auto used_before = TRY(read_units(element(answer.reply, 2)));
  return Reconciliation{.used_before = used_before, .used_now = reconcile.used};
}

// Runs settle.lua until nothing stands in its way. `write` adds the operation and its options, then keys and arguments
// behind those of the meters.
Result<RedisStore::Answer> RedisStore::settle(std::span<const Charge> charges, const WriteCall& write) {
  std::uint64_t window_us = 0;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto meters = TRY(merge(charges));
    Batch batch;
    add_settle(meters, write, window_us != 0 ? window_us : us_of(now()), batch);
    auto reply = TRY(run(batch));
    TRY(saw(element(reply, 1)));
    if (reply.elements[0].text == "again") return Answer{std::move(meters), element(reply, 2)};
    if (!stands_in_the_way(reply)) return Answer{std::move(meters), std::move(reply)};
    TRY(mend(reply, meters, window_us));
  }
  return too_busy();
}

void RedisStore::add_settle(const Meters& meters, const WriteCall& write, std::uint64_t window_us, Batch& batch) const {
  Call call;
  call.arguments.push_back(session_.bounds_text());
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
