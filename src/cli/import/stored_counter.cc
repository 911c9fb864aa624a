#include "cli/import/stored_counter.h"

#include "base/try.h"
#include "calendar/calendar.h"
#include "cli/frame/text.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

constexpr std::size_t kShownColumns = 40;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "2e+17": what a Lua script makes of a number above 10^17 when it hands it to SET.
bool has_exponent(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  return exponent != std::string_view::npos && exponent > 0 &&
         text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

std::string why_no_integer(std::string_view text) {
  if (has_exponent(text)) return " is not an integer: a script has written it as a fraction, and units may be lost";
  if (text.size() > 1 && is_digits(text) && text.front() != '0') return " is more than " + number_text(kAmountMax);
  return " is not an integer";
}

}  // namespace

StoredAmount read_amount(const wire::RespValue& reply, Amount least) {
  if (reply.type == wire::RespType::kNull) return std::nullopt;
  if (reply.is_error()) return std::string("is no string: " + escaped(reply.text));
  const auto number = wire::parse_integer(reply.text);
  const auto refuse = [&](const std::string& why) { return shown(cut(reply.text, kShownColumns)) + why; };
  if (!number) return refuse(why_no_integer(reply.text));
  if (*number < 0) return refuse(" is below 0");
  if (*number < least) return refuse(": an amount is 1 at least");
  if (*number > kAmountMax) return refuse(" is more than " + number_text(kAmountMax));
  return *number;
}

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
  const auto calendar = TRY(civil::Calendar::make({.unit = Unit::kMonth, .zone = zone}));
  // Zones differ by hours: the middle of a month is in the same month everywhere.
  const base::Span span = calendar.span_at(now);
  const std::chrono::sys_seconds middle{
      std::chrono::seconds((span.start.unix_seconds() + span.end.unix_seconds()) / 2)};
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(middle));
  return Month(date.year(), date.month());
}

}  // namespace mete::cli
