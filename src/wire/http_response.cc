#include "wire/http_response.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace mete::wire {

namespace {

struct Reason {
  int status;
  std::string_view phrase;
};
constexpr std::array<Reason, 23> kReasons = {{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
}};

void append_number(std::uint64_t number, std::size_t digits, std::string& text) {
  const std::string plain = std::to_string(number);
  text.append(digits - std::min(digits, plain.size()), '0').append(plain);
}

struct Date {
  std::uint64_t year;
  std::uint64_t month;  // 0..11
  std::uint64_t day;
};

// Counted in years that start in March, so that the leap day is a year's last.
Date civil_date(std::uint64_t days_since_1970) {
  constexpr std::uint64_t kDaysToYear0 = 719'468;  // 1 March of year 0 to 1 January 1970
  constexpr std::uint64_t kDaysOf400Years = 146'097;
  const std::uint64_t days = days_since_1970 + kDaysToYear0;
  const std::uint64_t era = days / kDaysOf400Years;
  const std::uint64_t day_of_era = days % kDaysOf400Years;
  const std::uint64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t march_month = (5 * day_of_year + 2) / 153;
  const std::uint64_t month = (march_month + 2) % 12;
  return {era * 400 + year_of_era + (month < 2 ? 1 : 0), month, day_of_year - (153 * march_month + 2) / 5 + 1};
}

std::string date_text(std::uint64_t unix_seconds) {
  static constexpr std::string_view kDays = "ThuFriSatSunMonTueWed";  // 1 January 1970 was a Thursday.
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::uint64_t days = unix_seconds / 86'400;
  const std::uint64_t second = unix_seconds % 86'400;
  const Date date = civil_date(days);
  std::string text(kDays.substr(days % 7 * 3, 3));
  text += ", ";
  append_number(date.day, 2, text);
  text.append(" ").append(kMonths.substr(date.month * 3, 3)).append(" ");
  append_number(date.year, 4, text);
  text += ' ';
  append_number(second / 3'600, 2, text);
  text += ':';
  append_number(second / 60 % 60, 2, text);
  text += ':';
  append_number(second % 60, 2, text);
  return text += " GMT";
}

}  // namespace

void HttpResponse::add_header(std::string_view name, std::string_view value) {
  CHECK(std::none_of(value.begin(), value.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }));
  headers.append(name).append(": ").append(value).append("\r\n");
}

void HttpResponse::add_header(std::string_view name, std::int64_t value) { add_header(name, std::to_string(value)); }

std::string_view reason_phrase(int status) {
  const auto* reason =
      std::find_if(kReasons.begin(), kReasons.end(), [status](const Reason& each) { return each.status == status; });
  return reason == kReasons.end() ? std::string_view() : reason->phrase;
}

void write_response(const HttpResponse& response, const HttpDelivery& delivery, std::string& out) {
  CHECK(response.status != 204 || response.body.empty());
  CHECK(response.body.empty() || !response.content_type.empty());
  out.append(delivery.minor_version == 0 ? "HTTP/1.0 " : "HTTP/1.1 ").append(std::to_string(response.status));
  out.append(" ").append(reason_phrase(response.status)).append("\r\nDate: ").append(delivery.date).append("\r\n");
  if (!delivery.keeps_alive) {
    out += "Connection: close\r\n";
  } else if (delivery.minor_version == 0) {
    out += "Connection: keep-alive\r\n";
  }
  if (!response.content_type.empty()) out.append("Content-Type: ").append(response.content_type).append("\r\n");
  if (response.status != 204)
    out.append("Content-Length: ").append(std::to_string(response.body.size())).append("\r\n");
  out.append(response.headers).append("\r\n");
  if (!delivery.is_head) out += response.body;
}

std::string_view HttpDate::at(Instant now) {
  if (text_.empty() || unix_seconds_ != now.unix_seconds()) {
    unix_seconds_ = now.unix_seconds();
    text_ = date_text(unix_seconds_);
  }
  return text_;
}

}  // namespace mete::wire
