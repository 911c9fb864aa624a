#include "store/redis/limit_book.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/names.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

namespace {

Result<std::unique_ptr<engine::RuleRecord>> make_rule(const Limit& limit) {
  std::optional<civil::Calendar> calendar;
  if (limit.kind() == Kind::kCalendar) {
    const std::string zone = limit.zone().value_or("UTC");
    calendar = TRY(civil::Calendar::make({.unit = *limit.unit(), .zone = zone, .anchor = limit.anchor().value_or(0)}));
  }
  return std::make_unique<engine::RuleRecord>(rule_of(limit), std::move(calendar));
}

constexpr std::size_t kFormatBytesMax = 20;  // of a format as it is told

std::string terms_of(const LimitEntry& entry, const core::Rule& rule, const core::Span& window,
                     const std::optional<BucketTimes>& times) {
  std::string text(1, kKindLetters[static_cast<std::size_t>(rule.kind)]);
  const std::uint64_t numbers[] = {base::to_unsigned(rule.amount),
                                   base::to_unsigned(rule.capacity),
                                   rule.period_ns() / 1000,
                                   entry.rev,
                                   entry.born,
                                   entry.cleared,
                                   window.start.ns() / 1000,
                                   window.end.ns() / 1000,
                                   entry.definition->is_shadow() ? 1U : 0U};
  for (const std::uint64_t number : numbers) text += " " + std::to_string(number);
  return text + " " + std::to_string(entry.slot) + " " + std::to_string(times ? times->span_us : 0);
}

}  // namespace

Result<std::unique_ptr<KnownLimit>> KnownLimit::make(LimitEntry entry) {
  std::unique_ptr<KnownLimit> limit(new KnownLimit(std::move(entry)));
  limit->rule_ = TRY(make_rule(limit->definition()));
  for (const LimitEntry::Earlier& earlier : limit->entry_.earlier) {
    auto earlier_rule = TRY(make_rule(earlier.definition));
    limit->earlier_.push_back({earlier.rev, earlier.slot, earlier.until_us, std::move(earlier_rule)});
  }
  limit->record_ = std::make_unique<engine::LimitRecord>(limit->definition(), 0);
  limit->record_->generation = limit->entry_.born;
  limit->record_->rule = limit->rule_.get();
  limit->times_ = bucket_times(limit->rule_->rule());
  const core::Rule& numbers = limit->rule_->rule();
  const std::uint64_t period_us = numbers.period_ns() / 1000;
  const std::uint64_t amount = base::to_unsigned(numbers.amount);
  if (period_us % amount == 0) limit->unit_us_ = period_us / amount;
  limit->terms_ = terms_of(limit->entry_, limit->rule_->rule(), {}, limit->times_);
  return limit;
}

std::string KnownLimit::terms(std::uint64_t now_us) const {
  if (rule_->rule().kind != Kind::kCalendar) return terms_;
  return terms_of(entry_, rule_->rule(), rule_->moment(core::State(), Instant::from_ns(now_us * 1000)).window, times_);
}

std::optional<std::uint64_t> KnownLimit::plain_charge_us(Amount cost) const {
  if (entry_.slot == kNoSlot || !times_ || cost < 1 || cost > rule_->rule().capacity || definition().is_shadow()) {
    return std::nullopt;
  }
  if (unit_us_ > 0) return base::to_unsigned(cost) * unit_us_;  // at most what an empty bucket needs
  const auto ticks = base::multiply(base::to_unsigned(cost), rule_->rule().period_ns() / 1000);
  const auto charge_us = base::div_floor(ticks, base::to_unsigned(rule_->rule().amount));
  if (charge_us * base::to_unsigned(rule_->rule().amount) != ticks) return std::nullopt;
  return static_cast<std::uint64_t>(charge_us);
}

bool KnownLimit::is_counted() const {
  const Kind kind = rule_->rule().kind;
  return (kind == Kind::kStock || kind == Kind::kWindow || kind == Kind::kCalendar) && !definition().is_shadow();
}

bool KnownLimit::is_sliding(Amount cost) const {
  return rule_->rule().kind == Kind::kSliding && cost > 0 && !definition().is_shadow();
}

KnownLimit::Counted KnownLimit::counted(std::uint64_t now_us) const {
  Counted counted{.head = "r" + std::to_string(entry_.rev) + ":"};
  const Kind kind = rule_->rule().kind;
  if (kind != Kind::kWindow && kind != Kind::kCalendar) return counted;
  const core::Span window = rule_->moment(core::State(), Instant::from_ns(now_us * 1000)).window;
  counted.starts_us = window.start.ns() / 1000;
  counted.ends_us = window.end.ns() / 1000;
  counted.head += std::to_string(counted.starts_us) + ":";
  return counted;
}

Result<std::shared_ptr<const LimitBook>> LimitBook::read(const wire::RespValue& fields) {
  auto book = std::make_shared<LimitBook>();
  for (std::size_t i = 0; i + 1 < fields.elements.size(); i += 2) {
    const std::string& field = fields.elements[i].text;
    const wire::RespValue& value = fields.elements[i + 1];
    const std::string& text = value.text;
    if (field == kGenerationField) {
      book->generation_ = TRY(read_natural(value).map_error(naming(kLimitsKey)));
    } else if (field == kEpochField) {
      book->epoch_ = TRY(read_natural(value).map_error(naming(kLimitsKey)));
    } else if (field == kFormatField) {
      if (text == kFormat) continue;
      return base::unavailable("the keys in this Redis are of format " + text.substr(0, kFormatBytesMax) +
                               " (in mete.limits), and this Mete knows " + std::string(kFormat) +
                               ": use the version that wrote them, or a newer one");
    } else {
      const auto added = book->add(field, text);
      if (!added) book->unreadable_.emplace(field, added.error());
    }
  }
  return book;
}

Result<void> LimitBook::add(const std::string& name, std::string_view text) {
  auto entry = TRY(parse_limit_entry(name, text));
  if (entry.definition) {
    auto limit = TRY(KnownLimit::make(entry).map_error([&name](const Error& error) {
      return base::unavailable("the field '" + name + "' of mete.limits in Redis: " + error.message);
    }));
    limits_.emplace(name, std::move(limit));
  }
  entries_.emplace(name, std::move(entry));
  return {};
}

std::optional<Error> LimitBook::unreadable(std::string_view name) const {
  const auto found = unreadable_.find(name);
  return found == unreadable_.end() ? std::nullopt : std::optional(found->second);
}

const KnownLimit* LimitBook::find(std::string_view name) const {
  const auto found = limits_.find(name);
  return found == limits_.end() ? nullptr : found->second.get();
}

std::vector<std::string> LimitBook::names() const {
  std::vector<std::string> names;
  for (const auto& [name, limit] : limits_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mete::store::redis
