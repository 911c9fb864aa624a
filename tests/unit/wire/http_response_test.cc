#include "wire/http_response.h"

#include <gtest/gtest.h>

namespace mete::wire {
namespace {

constexpr std::string_view kDate = "Sun, 06 Nov 1994 08:49:37 GMT";

std::string written(const HttpResponse& response, const HttpDelivery& delivery) {
  std::string out;
  write_response(response, delivery, out);
  return out;
}

TEST(WriteResponse, HasItsHeadersInEveryForm) {
  HttpResponse response{.status = 429, .content_type = "application/json", .body = "{}"};
  response.add_header("Retry-After", 7);
  const std::string tail = "Content-Type: application/json\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\n";
  const std::string date = "Date: " + std::string(kDate) + "\r\n";
  const std::string status = " 429 Too Many Requests\r\n";
  EXPECT_EQ(written(response, {.date = kDate}), "HTTP/1.1" + status + date + tail + "{}");
  EXPECT_EQ(written(response, {.date = kDate, .is_head = true}), "HTTP/1.1" + status + date + tail);
  EXPECT_EQ(written(response, {.date = kDate, .keeps_alive = false}),
            "HTTP/1.1" + status + date + "Connection: close\r\n" + tail + "{}");
  EXPECT_EQ(written(response, {.date = kDate, .minor_version = 0}),
            "HTTP/1.0" + status + date + "Connection: keep-alive\r\n" + tail + "{}");
}

TEST(WriteResponse, AnswersWithoutABody) {
  EXPECT_EQ(written({.status = 200}, {.date = kDate}),
            "HTTP/1.1 200 OK\r\nDate: " + std::string(kDate) + "\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(written({.status = 204}, {.date = kDate}),
            "HTTP/1.1 204 No Content\r\nDate: " + std::string(kDate) + "\r\n\r\n");
}

TEST(WriteResponse, NeverLetsAHeaderEndEarly) {
  HttpResponse response;
  EXPECT_DEATH(response.add_header("Location", "a\r\nSet-Cookie: b"), "CHECK failed");
}

TEST(HttpDate, IsRightOverTheCenturies) {
  const struct {
    std::uint64_t unix_seconds;
    std::string_view text;
  } rows[] = {
      {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
      {784'111'777, kDate},
      {951'782'400, "Tue, 29 Feb 2000 00:00:00 GMT"},
      {951'868'799, "Tue, 29 Feb 2000 23:59:59 GMT"},
      {951'868'800, "Wed, 01 Mar 2000 00:00:00 GMT"},
      {1'704'067'199, "Sun, 31 Dec 2023 23:59:59 GMT"},
      {4'107'542'400, "Mon, 01 Mar 2100 00:00:00 GMT"},
      {16'725'225'599, "Thu, 31 Dec 2499 23:59:59 GMT"},
  };
  HttpDate date;
  for (const auto& row : rows) {
    EXPECT_EQ(date.at(Instant::from_unix_seconds(row.unix_seconds)), row.text);
    EXPECT_EQ(date.at(Instant::from_unix_seconds(row.unix_seconds)), row.text);
  }
}

}  // namespace
}  // namespace mete::wire
