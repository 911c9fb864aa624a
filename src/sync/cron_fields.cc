// The fields of a schedule: see cron.h.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "sync/cron.h"
#include "wire/text.h"

namespace mete::sync {

namespace {

constexpr std::array<std::string_view, 12> kMonths = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                      "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekDays = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct FieldSpec {
  std::string_view name;
  unsigned min;
  unsigned max;
  std::span<const std::string_view> names = {};  // of min and those behind it
};
constexpr std::array<FieldSpec, 5> kFields = {{{"minute", 0, 59},
                                               {"hour", 0, 23},
                                               {"day of the month", 1, 31},
                                               {"month", 1, 12, kMonths},
                                               {"day of the week", 0, 7, kWeekDays}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShorthands = {{{"@hourly", "0 * * * *"},
                                                                                       {"@daily", "0 0 * * *"},
                                                                                       {"@midnight", "0 0 * * *"},
                                                                                       {"@weekly", "0 0 * * 0"},
                                                                                       {"@monthly", "0 0 1 * *"},
                                                                                       {"@yearly", "0 0 1 1 *"},
                                                                                       {"@annually", "0 0 1 1 *"}}};

Error refuse(const FieldSpec& field, std::string_view item, const std::string& reason) {
  return base::invalid(std::string(field.name) + ": " + wire::quote(item) + " " + reason);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  return parts;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::optional<unsigned> number_of(const FieldSpec& field, std::string_view word) {
  for (std::size_t i = 0; i < field.names.size(); ++i) {
    if (wire::equals_ignoring_case(word, field.names[i])) return field.min + static_cast<unsigned>(i);
  }
  const auto number = wire::parse_integer(word);
  const bool is_in_range = number && *number >= field.min && *number <= field.max;
  return is_in_range ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

struct Range {
  unsigned first;
  unsigned last;
};

Result<Range> parse_range(const FieldSpec& field, std::string_view item, std::string_view text) {
  if (text == "*") return Range{field.min, field.max};
  const std::size_t dash = text.find('-');
  const auto first = number_of(field, text.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : number_of(field, text.substr(dash + 1));
  if (!first || !last) {
    const std::string names =
        field.names.empty() ? "" : " or " + std::string(field.names.front()) + "-" + std::string(field.names.back());
    return refuse(field, item,
                  "is not right: use *, numbers from " + std::to_string(field.min) + " to " +
                      std::to_string(field.max) + names + ", ranges such as 1-5, and steps such as */2");
  }
  const bool is_until_sunday = field.max == 7 && *last == 0;
  if (is_until_sunday && *first > 0) last = 7;
  if (*last < *first) return refuse(field, item, "begins behind its end");
  return Range{*first, *last};
}

Result<std::uint64_t> parse_item(const FieldSpec& field, std::string_view item) {
  const std::size_t slash = item.find('/');
  const std::string_view text = item.substr(0, slash);
  const auto range = TRY(parse_range(field, item, text));
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    if (text.find('-') == std::string_view::npos && text != "*") {
      return refuse(field, item, "has a step without a range: write */N or FIRST-LAST/N");
    }
    const auto given = wire::parse_integer(item.substr(slash + 1));
    if (!given || *given < 1 || *given > field.max) {
      return refuse(field, item, "has a step that is not 1 to " + std::to_string(field.max));
    }
    step = static_cast<unsigned>(*given);
  }
  std::uint64_t set = 0;
  for (unsigned number = range.first; number <= range.last; number += step) set |= std::uint64_t{1} << number;
  return set;
}

Result<std::uint64_t> parse_field(const FieldSpec& field, std::string_view text) {
  std::uint64_t set = 0;
  for (const std::string_view item : split(text, ',')) {
    const auto numbers = TRY(parse_item(field, item));
    set |= numbers;
  }
  return set;
}

bool has(std::uint64_t set, unsigned number) { return (set >> number & 1U) != 0; }

}  // namespace

Result<CronFields> CronFields::parse(std::string_view text) {
  for (const auto& [name, fields] : kShorthands) {
    if (wire::equals_ignoring_case(text, name)) return parse(fields);
  }
  if (text.starts_with('@')) {
    return base::invalid(wire::quote(text) +
                         " is not known: use @hourly, @daily, @weekly, @monthly or @yearly, or five fields");
  }
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != kFields.size()) {
    return base::invalid(
        "it has " + std::to_string(words.size()) +
        " fields, and needs five: minute, hour, day of the month, month and day of the week, as \"0 3 * * *\"");
  }
  std::array<std::uint64_t, kFields.size()> sets{};
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    sets[i] = TRY(parse_field(kFields[i], words[i]));
  }
  constexpr std::uint64_t kSunday = 1;
  if (has(sets[4], 7)) sets[4] |= kSunday;
  return CronFields{.minutes = sets[0],
                    .hours = sets[1],
                    .month_days = sets[2],
                    .months = sets[3],
                    .week_days = sets[4],
                    .has_every_hour = words[1].starts_with('*'),
                    .is_day_either = !words[2].starts_with('*') && !words[4].starts_with('*')};
}

bool CronFields::has_month(std::chrono::month month) const { return has(months, static_cast<unsigned>(month)); }

bool CronFields::has_day(std::chrono::local_days day) const {
  const bool is_month_day = has(month_days, static_cast<unsigned>(std::chrono::year_month_day(day).day()));
  const bool is_week_day = has(week_days, std::chrono::weekday(day).c_encoding());
  return is_day_either ? is_month_day || is_week_day : is_month_day && is_week_day;
}

}  // namespace mete::sync
