#include "cli/import/month.h"

#include "base/time_text.h"
#include "calendar/calendar.h"
#include "wire/text.h"

namespace mete::cli {

std::optional<Month> parse_month(std::string_view text) {
  constexpr std::string_view kForm = "YYYY-MM";
  if (text.size() != kForm.size()) return std::nullopt;
  int number = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == '-' ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return std::nullopt;
    if (kForm[i] != '-') number = number * 10 + (text[i] - '0');
  }
  const Month month(std::chrono::year(number / 100), std::chrono::month(static_cast<unsigned>(number % 100)));
  return month.ok() ? std::optional(month) : std::nullopt;
}

std::string month_text(Month month) {
  const std::string digits =
      std::to_string(static_cast<int>(month.year()) * 100 + static_cast<int>(static_cast<unsigned>(month.month())));
  return digits.substr(0, digits.size() - 2) + "-" + digits.substr(digits.size() - 2);
}

Result<Month> month_at(Instant now, const std::string& zone) {
  const auto calendar = civil::Calendar::make({.unit = Unit::kMonth, .zone = zone});
  if (!calendar) return tl::unexpected(calendar.error());
  // Zones differ by hours: the middle of a month is in the same month everywhere.
  const base::Span span = calendar->span_at(now);
  const std::chrono::sys_seconds middle{
      std::chrono::seconds((span.start.unix_seconds() + span.end.unix_seconds()) / 2)};
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(middle));
  return Month(date.year(), date.month());
}

}  // namespace mete::cli
