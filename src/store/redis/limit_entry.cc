#include "store/redis/limit_entry.h"

#include <algorithm>
#include <charconv>

#include "base/errors.h"
#include "base/math.h"
#include "core/limit_fields.h"
#include "core/validate.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

constexpr std::string_view kNone = "-";
constexpr std::size_t kWhyBytesMax = 300;
constexpr std::uint64_t kDayUs = 86'400'000'000;
constexpr std::uint64_t kSpanUsMin = 2'000'000;
constexpr std::uint64_t kSpansPerBucket = 2;
constexpr std::uint64_t kPlainUsMax = 100'000'000'000'000;  // three years: further ahead there are no plain values

// The words of a line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    is_bad_ = is_bad_ || word.empty();
    return word;
  }
  template <class Number>
  Number number() {
    const std::string_view word = next();
    Number value{};
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    is_bad_ = is_bad_ || failure != std::errc() || end != word.data() + word.size();
    return value;
  }
  // None where there is none.
  std::optional<core::FieldValue> value(const core::LimitField& field) {
    const std::string_view word = next();
    const auto value = word == kNone ? std::nullopt : field.parse(word);
    is_bad_ = is_bad_ || (!value && (word != kNone || field.is_required()));
    return value;
  }
  [[nodiscard]] bool is_bad() const { return is_bad_; }

 private:
  std::string_view rest_;
  bool is_bad_ = false;
};

std::string definition_text(const Limit& limit) {
  std::string text;
  for (const core::LimitField& field : core::kLimitFields) {
    const auto value = field.get(limit);
    text += (text.empty() ? "" : " ") + (value ? field.to_text(*value) : std::string(kNone));
  }
  return text;
}

Limit parse_definition(std::string_view name, Words& words) {
  LimitFields fields{.name = std::string(name)};
  for (const core::LimitField& field : core::kLimitFields) {
    if (const auto value = words.value(field)) field.set(fields, *value);
  }
  return Limit(std::move(fields));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Error unreadable_definition(std::string_view name, std::string_view why) {
  return base::unavailable("the field '" + std::string(name.substr(0, kNameBytesMax)) +
                           "' of mete.limits in Redis cannot be read: " + std::string(why.substr(0, kWhyBytesMax)));
}

bool is_slot(int slot) { return slot >= kNoSlot && slot < static_cast<int>(kRevisionSlots); }

auto is_earlier_than(const LimitEntry& entry) {
  return [&entry](const LimitEntry::Earlier& earlier) {
    return earlier.rev < entry.rev && is_slot(earlier.slot) && earlier.until_us <= Instant::max().ns() / 1000 &&
           core::validate_limit(earlier.definition).has_value();
  };
}

// Whether states mean the same under both.
bool means_the_same(const Limit& a, const Limit& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Kind::kBucket || a.kind() == Kind::kSliding) return rule_of(a) == rule_of(b);
  return a.period() == b.period() && a.unit() == b.unit() && a.zone() == b.zone() && a.anchor() == b.anchor();
}

// The present revision ends, and its slot is kept until its values are gone.
void retire(LimitEntry& entry, std::uint64_t now_us) {
  if (entry.slot == kNoSlot) return;
  const auto times = bucket_times(rule_of(*entry.definition));
  const std::uint64_t lasts = times ? times->full_us + times->span_us + kMarginUs : 0;
  entry.free_at_us[static_cast<std::size_t>(entry.slot)] = now_us + lasts + kDayUs;
  entry.slot = kNoSlot;
}

void begin_revision(LimitEntry& entry, std::uint64_t now_us) {
  ++entry.rev;
  if (!bucket_times(rule_of(*entry.definition))) return;
  const auto free = std::find_if(entry.free_at_us.begin(), entry.free_at_us.end(),
                                 [now_us](std::uint64_t free_at) { return free_at <= now_us; });
  if (free != entry.free_at_us.end()) entry.slot = static_cast<int>(free - entry.free_at_us.begin());
}

}  // namespace

core::Rule rule_of(const Limit& limit) {
  return {.kind = limit.kind(),
          .amount = limit.amount(),
          .capacity = limit.burst().value_or(limit.amount()),
          .period = limit.period().value_or(Duration())};
}

std::optional<BucketTimes> bucket_times(const core::Rule& rule) {
  if (rule.kind != Kind::kBucket) return std::nullopt;
  const auto ticks = base::multiply(base::to_unsigned(rule.capacity), rule.period_ns() / 1000);
  const auto full_us = base::div_floor(ticks, base::to_unsigned(rule.amount));
  if (full_us == 0 || full_us > kPlainUsMax) return std::nullopt;
  const auto full = static_cast<std::uint64_t>(full_us);
  return BucketTimes{.full_us = full, .span_us = std::max(full / kSpansPerBucket, kSpanUsMin)};
}

std::string to_text(const LimitEntry& entry) {
  std::string text = std::to_string(entry.rev) + " " + std::to_string(entry.born) + " " +
                     std::to_string(entry.cleared) + " " + std::to_string(entry.slot);
  for (const std::uint64_t free_at : entry.free_at_us) text += " " + std::to_string(free_at);
  text += "\n" + (entry.definition ? definition_text(*entry.definition) : std::string(kNone));
  for (const LimitEntry::Earlier& earlier : entry.earlier) {
    text += "\n" + std::to_string(earlier.rev) + " " + std::to_string(earlier.slot) + " " +
            std::to_string(earlier.until_us) + " " + definition_text(earlier.definition);
  }
  return text;
}

Result<LimitEntry> parse_limit_entry(std::string_view name, std::string_view text) {
  LimitEntry entry;
  Words head(take_line(text));
  entry.rev = head.number<std::uint64_t>();
  entry.born = head.number<std::uint64_t>();
  entry.cleared = head.number<std::uint64_t>();
  entry.slot = head.number<int>();
  for (std::uint64_t& free_at : entry.free_at_us) free_at = head.number<std::uint64_t>();
  bool is_bad = head.is_bad();
  if (const std::string_view line = take_line(text); line != kNone) {
    Words words(line);
    entry.definition = parse_definition(name, words);
    is_bad = is_bad || words.is_bad();
  }
  while (!text.empty() && !is_bad) {
    Words words(take_line(text));
    const auto rev = words.number<std::uint64_t>();
    const int slot = words.number<int>();
    const auto until_us = words.number<std::uint64_t>();
    auto definition = parse_definition(name, words);
    is_bad = words.is_bad();
    if (!is_bad) entry.earlier.push_back({rev, slot, until_us, std::move(definition)});
  }
  const bool is_sound = !is_bad && is_slot(entry.slot) && entry.born <= entry.cleared && entry.cleared <= entry.rev &&
                        std::all_of(entry.earlier.begin(), entry.earlier.end(), is_earlier_than(entry));
  if (!is_sound) return unreadable_definition(name, "something else, or another version of Mete, may have written it");
  if (entry.definition) {
    const auto valid = core::validate_limit(*entry.definition);
    if (!valid) return unreadable_definition(name, valid.error().message);
  }
  return entry;
}

LimitEntry redefined(LimitEntry entry, const Limit& definition, std::uint64_t now_us) {
  if (!entry.definition) {
    entry.definition = definition;
    begin_revision(entry, now_us);
    entry.born = entry.cleared = entry.rev;
  } else if (means_the_same(*entry.definition, definition)) {
    entry.definition = definition;
  } else {
    entry.earlier.push_back({entry.rev, entry.slot, now_us, *entry.definition});
    retire(entry, now_us);
    entry.definition = definition;
    begin_revision(entry, now_us);
  }
  return entry;
}

LimitEntry dropped(LimitEntry entry, std::uint64_t now_us) {
  retire(entry, now_us);
  entry.definition.reset();
  entry.earlier.clear();
  return entry;
}

LimitEntry cleared(LimitEntry entry, std::uint64_t now_us) {
  if (!entry.definition) return entry;
  retire(entry, now_us);
  begin_revision(entry, now_us);
  entry.earlier.clear();
  entry.cleared = entry.rev;
  return entry;
}

}  // namespace mete::store::redis
