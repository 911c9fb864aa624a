#include "calendar/posix_rule.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "calendar/zone.h"

namespace mete::civil {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year;
using std::chrono::years;

constexpr int kOffsetHoursMax = 24;
constexpr int kChangeHoursMax = 167;
constexpr std::size_t kDigitsMax = 3;
constexpr std::size_t kNameLettersMin = 3;
constexpr int kLastWeek = 5;
// The first day after 29 February as Jn counts.
constexpr int kJulianMarch = 60;

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }
bool is_quotable(char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '-'; }

struct Bounds {
  int min;
  int max;
};

// Reads the rule from left to right. After a mismatch every call answers something harmless, and at_end() stays false:
// the caller asks once.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return !failed_ && text_.empty(); }
  [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_.front(); }

  bool skip(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!skip(c)) failed_ = true;
  }

  void skip_name() {
    const bool quoted = skip('<');
    const auto end = std::find_if_not(text_.begin(), text_.end(), quoted ? is_quotable : is_letter);
    const auto length = static_cast<std::size_t>(end - text_.begin());
    if (length < kNameLettersMin) failed_ = true;
    text_.remove_prefix(length);
    if (quoted) expect('>');
  }

  int number(Bounds bounds) {
    int value = 0;
    std::size_t digits = 0;
    for (; digits < kDigitsMax && is_digit(peek()); ++digits) {
      value = value * 10 + (peek() - '0');
      text_.remove_prefix(1);
    }
    if (digits > 0 && bounds.min <= value && value <= bounds.max) return value;
    failed_ = true;
    return bounds.min;
  }

  // [+-]hours[:minutes[:seconds]]
  seconds time(int hours_max) {
    const bool negative = skip('-');
    if (!negative) skip('+');
    seconds length = hours(number({.min = 0, .max = hours_max}));
    if (skip(':')) {
      length += minutes(number({.min = 0, .max = 59}));
      if (skip(':')) length += seconds(number({.min = 0, .max = 59}));
    }
    return negative ? -length : length;
  }

  PosixRule::Change change() {
    using Form = PosixRule::Change::Form;
    PosixRule::Change change;
    if (skip('M')) {
      change.month = number({.min = 1, .max = 12});
      expect('.');
      change.week = number({.min = 1, .max = kLastWeek});
      expect('.');
      change.day = number({.min = 0, .max = 6});
    } else if (skip('J')) {
      change.form = Form::kJulianDay;
      change.day = number({.min = 1, .max = 365});
    } else {
      change.form = Form::kDayOfYear;
      change.day = number({.min = 0, .max = 365});
    }
    if (skip('/')) change.time = time(kChangeHoursMax);
    return change;
  }

 private:
  std::string_view text_;
  bool failed_ = false;
};

local_days weekday_of_month(const PosixRule::Change& change, year in) {
  const auto month = in / change.month;
  const std::chrono::weekday weekday(static_cast<unsigned>(change.day));
  if (change.week == kLastWeek) return local_days(month / weekday[std::chrono::last]);
  return local_days(month / weekday[static_cast<unsigned>(change.week)]);
}

}  // namespace

Result<PosixRule> PosixRule::parse(std::string_view text) {
  Scanner scanner(text);
  PosixRule rule;
  scanner.skip_name();
  rule.standard_offset_ = -scanner.time(kOffsetHoursMax);
  if (scanner.at_end()) return rule;

  Daylight daylight;
  scanner.skip_name();
  daylight.offset = scanner.peek() == ',' ? rule.standard_offset_ + hours(1) : -scanner.time(kOffsetHoursMax);
  scanner.expect(',');
  daylight.begin = scanner.change();
  scanner.expect(',');
  daylight.end = scanner.change();
  if (!scanner.at_end()) return base::invalid("its yearly rule is not a POSIX rule");

  CHECK(kOffsetMin <= daylight.offset && daylight.offset <= kOffsetMax);
  rule.daylight_ = daylight;
  return rule;
}

Stretch PosixRule::stretch_at(sys_seconds at) const {
  Stretch stretch{.start = kTimeMin, .end = kTimeMax, .offset = standard_offset_};
  if (!daylight_) return stretch;

  // A change can lie some days outside its year, so that both changes of a neighbouring year may lie on the wrong side
  // of `at`; the year after that cannot. Where two changes meet in an instant, the one taken last wins: daylight saving
  // that lasts all year ends and begins again at the same time.
  const auto consider = [&](sys_seconds change, seconds offset) {
    if (change > at) {
      stretch.end = std::min(stretch.end, change);
    } else if (change >= stretch.start) {
      stretch.start = change;
      stretch.offset = offset;
    }
  };
  const year now = std::chrono::year_month_day(floor<days>(at)).year();
  for (year in = now - years(2); in <= now + years(2); ++in) {
    const local_seconds end = daylight_->end.in(in);
    consider(sys_seconds(end.time_since_epoch() - daylight_->offset), standard_offset_);
  }
  for (year in = now - years(2); in <= now + years(2); ++in) {
    const local_seconds begin = daylight_->begin.in(in);
    consider(sys_seconds(begin.time_since_epoch() - standard_offset_), daylight_->offset);
  }
  CHECK(stretch.start <= at && at < stretch.end);
  return stretch;
}

local_seconds PosixRule::Change::in(year year) const {
  const local_days new_year(year / std::chrono::January / 1);
  switch (form) {
    case Form::kWeekday:
      return weekday_of_month(*this, year) + time;
    case Form::kJulianDay:
      return new_year + days(year.is_leap() && day >= kJulianMarch ? day : day - 1) + time;
    case Form::kDayOfYear:
      return new_year + days(day) + time;
  }
  CHECK(false);
  return new_year;
}

}  // namespace mete::civil
