// HttpResponse: what a request is answered with, and how it stands on the wire.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mete::wire {

struct HttpResponse {
  int status = 200;
  std::string_view content_type = {};  // a literal; empty where there is no body
  std::string headers = {};            // whole lines, each with its CR LF: see add_header
  std::string body = {};

  // The value must not have control characters: whoever puts a client's bytes there escapes them first.
  void add_header(std::string_view name, std::string_view value);
  void add_header(std::string_view name, std::int64_t value);
};

// "Not Found" for 404; empty for a status that is none of ours.
std::string_view reason_phrase(int status);

// What the answer's form depends on besides its contents.
struct HttpDelivery {
  std::string_view date = {};  // as HttpDate has it
  bool keeps_alive = true;
  bool is_head = false;  // the headers of a GET, and no body
  int minor_version = 1;
};
void write_response(const HttpResponse& response, const HttpDelivery& delivery, std::string& out);

inline constexpr std::string_view kContinueResponse = "HTTP/1.1 100 Continue\r\n\r\n";

// The value of the Date header: "Sun, 06 Nov 1994 08:49:37 GMT". Made once a second, since answers are more than that.
class HttpDate {
 public:
  // Valid until the next call.
  std::string_view at(Instant now);

 private:
  std::uint64_t unix_seconds_ = 0;
  std::string text_;
};

}  // namespace mete::wire
