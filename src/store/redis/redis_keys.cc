#include "store/redis/redis_keys.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/try.h"
#include "core/refusals.h"
#include "core/take.h"
#include "core/validate.h"
#include "store/redis/names.h"
#include "store/redis/replies.h"
#include "store/redis/scripts.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

// How the script calls a type.
std::string_view letter_of(KeyType type) { return base::name_of("-|c|q|t", type); }

// The letters of the types for which is_meant() is true.
template <class IsMeant>
std::string letters_where(IsMeant is_meant) {
  std::string letters;
  for (const KeyType type : {KeyType::kNone, KeyType::kCounter, KeyType::kQuota, KeyType::kThrottle}) {
    if (is_meant(type)) letters += letter_of(type);
  }
  return letters;
}

bool is_refused(const SetCounter& request, KeyType type) {
  return request.wants_old && (type == KeyType::kQuota || type == KeyType::kThrottle);
}

bool is_met(SetCondition condition, KeyType type) {
  return condition == SetCondition::kAlways || (condition == SetCondition::kIfPresent) == (type != KeyType::kNone);
}

std::string_view flag(bool is_so) { return is_so ? "1" : "0"; }

// An expiry in the script's words: what it is, and in or at how many microseconds.
struct ExpiryWords {
  std::string_view kind;
  std::string micros = "0";
};

Result<ExpiryWords> words_of(const Expiry& expiry) {
  switch (expiry.kind) {
    case Expiry::Kind::kKeep:
      return ExpiryWords{"keep"};
    case Expiry::Kind::kNone:
      return ExpiryWords{"none"};
    case Expiry::Kind::kIn:
      // A length below 0 is one that is over, as 0 is.
      return micros_of("expiry", expiry.length).map([](std::int64_t micros) {
        return ExpiryWords{"in", std::to_string(std::max<std::int64_t>(micros, 0))};
      });
    case Expiry::Kind::kAt:
      return micros_of("expiry", expiry.instant).map([](std::uint64_t micros) {
        return ExpiryWords{"at", std::to_string(micros)};
      });
  }
  __builtin_unreachable();
}

std::string_view word_of(ExpiryCondition condition) {
  return base::name_of("always|none|any|later|sooner|any_and_sooner", condition);
}

// A window is whole seconds.
std::string window_text(const QuotaRule& rule) { return std::to_string(rule.window.ns() / kNsPerMicro); }

Amount remaining_of(KeyRecord& quota, Instant now) {
  const core::Moment moment = quota.settle(now);
  return core::remaining(quota.rule, quota.state, moment);
}

}  // namespace

void RedisKeys::add_call(Batch& batch, std::string_view key, std::string_view operation,
                         std::initializer_list<std::string_view> arguments) const {
  const std::string name = key_name(key, session_.epoch.load(std::memory_order_relaxed));
  const std::string bounds = session_.bounds_text();
  std::vector<std::string_view> words = {name, operation, bounds};
  words.insert(words.end(), arguments.begin(), arguments.end());
  batch.add_script(name, script(StoreScript::kKeys), 1, words);
}

Result<RedisKeys::Told> RedisKeys::told_by(const Batch& batch, std::size_t index, Result<wire::RespValue> reply) {
  constexpr std::size_t kReplyParts = 4;
  auto parts = TRY(unless_error(std::move(reply), batch, index));
  if (parts.elements.size() != kReplyParts || parts.elements[0].integer < 0) {
    return unexpected_reply("a reply of the script for keys");
  }
  const auto& [now, before, wanted, fits] =
      std::tie(parts.elements[0], parts.elements[1], parts.elements[2], parts.elements[3]);
  const auto now_us = static_cast<std::uint64_t>(now.integer);
  session_.clock.raise(now_us);
  Told told{.now = instant_of_micros(now_us), .before = {}, .wanted = {}, .fits = fits.integer != 0};
  if (before.type == wire::RespType::kBulk) {
    told.before = TRY(read_key_record(before.text).map_error(naming(batch.keys(index))));
  }
  if (wanted.type == wire::RespType::kBulk) {
    told.wanted = TRY(read_key_record(wanted.text).map_error(naming(batch.keys(index))));
  }
  return told;
}

Result<RedisKeys::Told> RedisKeys::call(std::string_view key, std::string_view operation,
                                        std::initializer_list<std::string_view> arguments) {
  Batch batch;
  add_call(batch, key, operation, arguments);
  Replies replies;
  link_.run(batch, replies);
  return told_by(batch, 0, std::move(replies.front()));
}

Result<std::optional<std::int64_t>> RedisKeys::perform(const core::GetKey& get) {
  return call(get.key, "look").and_then([](Told told) -> Result<std::optional<std::int64_t>> {
    switch (told.before.type) {
      case KeyType::kNone:
        return std::nullopt;
      case KeyType::kCounter:
        return told.before.value;
      case KeyType::kQuota:
        return remaining_of(told.before, told.now);
      case KeyType::kThrottle:
        return core::wrong_type();
    }
    __builtin_unreachable();
  });
}

Result<SetAnswer> RedisKeys::perform(const core::SetCounter& set) {
  const auto expiry = TRY(words_of(set.expiry));
  const std::string replaced = letters_where([&](KeyType type) {
    return !is_refused(set, type) && is_met(set.condition, type) && core::is_within(set.reach, type);
  });
  const auto told = TRY(call(set.key, "set", {replaced, std::to_string(set.value), expiry.kind, expiry.micros}));
  const KeyType type = told.before.type;
  if (is_refused(set, type)) return core::wrong_type();
  SetAnswer answer;
  if (type == KeyType::kCounter) answer.old = told.before.value;
  if (!is_met(set.condition, type)) return answer;
  answer.is_out_of_reach = !core::is_within(set.reach, type);
  answer.is_set = !answer.is_out_of_reach;
  return answer;
}

Result<std::optional<std::int64_t>> RedisKeys::perform(const core::TakeOut& take) {
  return call(take.key, "remove", {letter_of(KeyType::kCounter)})
      .and_then([](const Told& told) -> Result<std::optional<std::int64_t>> {
        if (!told.before.is_counter_or_none()) return core::wrong_type();
        if (told.before.type == KeyType::kNone) return std::nullopt;
        return told.before.value;
      });
}

// --- Steps, one by one or together -----------------------------------------------------------------------------------

template <class Step>
Result<typename Step::Answer> RedisKeys::ask(const Step& step) {
  Batch batch;
  TRY(add_step(batch, step));
  Replies replies;
  link_.run(batch, replies);
  return answer_of(step, TRY(told_by(batch, 0, std::move(replies.front()))));
}
template Result<std::int64_t> RedisKeys::ask(const core::AddToCounter& step);
template Result<BoundedSum> RedisKeys::ask(const core::AddBounded& step);
template Result<Amount> RedisKeys::ask(const core::TakeQuota& step);
template Result<core::Verdict> RedisKeys::ask(const core::Throttle& step);

Result<void> RedisKeys::perform(const core::KeysEach& keys) {
  Batch batch;
  std::vector<std::size_t> sent;
  for (std::size_t i = 0; i < keys.steps.size(); ++i) {
    const auto added = std::visit([&](const auto& step) { return add_step(batch, step); }, keys.steps[i]);
    if (added) {
      sent.push_back(i);
    } else {
      keys.answers[i] = added.error();
    }
  }
  Replies replies;
  if (!sent.empty()) link_.run(batch, replies);
  for (std::size_t call = 0; call < sent.size(); ++call) {
    const auto read = [&](const auto& step) -> Result<core::KeyStepAnswer> {
      return answer_of(step, TRY(told_by(batch, call, std::move(replies[call]))));
    };
    keys.answers[sent[call]] = std::visit(read, keys.steps[sent[call]]);
  }
  return {};
}

Result<void> RedisKeys::add_step(Batch& batch, const core::AddToCounter& add) const {
  add_call(batch, add.key, "add", {std::to_string(add.by), flag(core::validate_consumption(add.by).has_value())});
  return {};
}

Result<std::int64_t> RedisKeys::answer_of(const core::AddToCounter& add, Told told) {
  if (told.before.type == KeyType::kThrottle) return core::wrong_type();
  if (told.before.type == KeyType::kQuota) {
    TRY(core::validate_consumption(add.by));
    return told.wanted ? remaining_of(*told.wanted, told.now) : core::kQuotaDenied;
  }
  if (!told.wanted) return core::counter_overflow();
  return told.wanted->value;
}

Result<void> RedisKeys::add_step(Batch& batch, const core::AddBounded& add) const {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto expiry = TRY(words_of(add.expiry));
  add_call(batch, add.key, "add_bounded",
           {std::to_string(add.by), std::to_string(add.lower.value_or(Limits::min())),
            std::to_string(add.upper.value_or(Limits::max())), flag(add.saturate), expiry.kind, expiry.micros,
            flag(add.expiry_only_if_none)});
  return {};
}

Result<BoundedSum> RedisKeys::answer_of(const core::AddBounded& add, const Told& told) {
  if (!told.before.is_counter_or_none()) return core::wrong_type();
  if (told.wanted) return BoundedSum{told.wanted->value, told.wanted->value - told.before.value};
  // There always is a sum to saturate at; but what that adds may be more than a number can tell.
  if (add.saturate) return core::counter_overflow();
  return BoundedSum{.value = told.before.value, .applied = 0};
}

Result<void> RedisKeys::add_step(Batch& batch, const core::TakeQuota& take) const {
  add_call(batch, take.key, "quota_take",
           {std::to_string(take.rule.amount), window_text(take.rule), std::to_string(take.units)});
  return {};
}

Result<Amount> RedisKeys::answer_of(const core::TakeQuota& /*take*/, Told told) {
  if (told.before.type != KeyType::kNone && told.before.type != KeyType::kQuota) return core::wrong_type();
  return told.wanted ? remaining_of(*told.wanted, told.now) : core::kQuotaDenied;
}

Result<void> RedisKeys::add_step(Batch& batch, const core::Throttle& throttle) const {
  const auto period_us = TRY(micros_of("period", throttle.request.period));
  add_call(batch, throttle.key, "throttle",
           {std::to_string(throttle.request.capacity), std::to_string(throttle.request.count),
            std::to_string(period_us), std::to_string(throttle.request.quantity)});
  return {};
}

Result<core::Verdict> RedisKeys::answer_of(const core::Throttle& throttle, Told told) {
  if (!told.wanted) return core::wrong_type();
  KeyRecord& record = *told.wanted;
  const core::Moment moment = record.settle(told.now);
  core::Verdict verdict;
  verdict.is_allowed = told.fits;
  verdict.violated = told.fits ? 0 : 1;
  verdict.taken = told.fits ? throttle.request.quantity : 0;
  if (!told.fits) {
    verdict.retry_after = core::wait_for(record.rule, record.state, throttle.request.quantity, moment);
  }
  core::tell_standing(record.rule, record.state, moment, verdict);
  return verdict;
}

// --- Quotas and any key ----------------------------------------------------------------------------------------------

Result<void> RedisKeys::perform(const core::SetQuota& set) {
  return call(set.key, "quota_set", {std::to_string(set.rule.amount), window_text(set.rule)})
      .and_then([](const Told& told) -> Result<void> {
        if (told.before.type == KeyType::kNone || told.before.type == KeyType::kQuota) return {};
        return core::wrong_type();
      });
}

Result<std::optional<QuotaStanding>> RedisKeys::perform(const core::GetQuota& get) {
  return call(get.key, "look").and_then([](Told told) -> Result<std::optional<QuotaStanding>> {
    if (told.before.type == KeyType::kNone) return std::nullopt;
    if (told.before.type != KeyType::kQuota) return core::wrong_type();
    const core::Rule& rule = told.before.rule;
    return QuotaStanding{.rule = {.amount = rule.amount, .window = rule.period},
                         .remaining = remaining_of(told.before, told.now)};
  });
}

Result<bool> RedisKeys::perform(const core::RemoveQuota& remove) {
  return call(remove.key, "remove", {letter_of(KeyType::kQuota)}).and_then([](const Told& told) -> Result<bool> {
    if (told.before.type == KeyType::kNone) return false;
    if (told.before.type != KeyType::kQuota) return core::wrong_type();
    return true;
  });
}

Result<KeyType> RedisKeys::perform(const core::TypeOfKey& find) {
  return call(find.key, "look").map([](const Told& told) { return told.before.type; });
}

Result<bool> RedisKeys::perform(const core::RemoveKey& remove) {
  const auto is_removed = [&](KeyType type) { return type != KeyType::kNone && core::is_within(remove.reach, type); };
  return call(remove.key, "remove", {letters_where(is_removed)}).map([&](const Told& told) {
    return is_removed(told.before.type);
  });
}

Result<std::optional<Instant>> RedisKeys::perform(const core::FindExpiry& find) {
  return call(find.key, "look").map([](Told told) -> std::optional<Instant> {
    switch (told.before.type) {
      case KeyType::kNone:
        return std::nullopt;
      case KeyType::kCounter:
        return told.before.expires_at;
      case KeyType::kQuota:
        return Instant::max();
      case KeyType::kThrottle: {
        const core::Moment moment = told.before.settle(told.now);
        const Duration left = core::reset_after(told.before.rule, told.before.state, moment);
        return left.is_never() ? Instant::max() : moment.now + left;
      }
    }
    __builtin_unreachable();
  });
}

Result<bool> RedisKeys::perform(const core::ExpireKey& expire) {
  const auto words = TRY(words_of(expire.expiry));
  return call(expire.key, "expire", {word_of(expire.condition), words.kind, words.micros})
      .and_then([](const Told& told) -> Result<bool> {
        if (!told.before.is_counter_or_none()) return core::no_expiry(told.before.type);
        return told.wanted.has_value();
      });
}

Result<bool> RedisKeys::perform(const core::PersistKey& persist) {
  const ExpiryWords none = *words_of(Expiry::none());
  return call(persist.key, "expire", {word_of(ExpiryCondition::kIfAny), none.kind, none.micros})
      .and_then([](const Told& told) -> Result<bool> {
        if (told.before.type == KeyType::kThrottle) return core::no_expiry(told.before.type);
        return told.wanted.has_value();
      });
}

}  // namespace mete::store::redis
