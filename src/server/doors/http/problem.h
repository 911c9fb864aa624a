// Answers of type application/problem+json (RFC 9457): what is wrong, for programs and for people.
#pragma once

#include <mete/result.h>

#include <string_view>

#include "wire/http_response.h"

namespace mete::server {

inline constexpr std::string_view kProblemContentType = "application/problem+json";
inline constexpr std::string_view kJsonContentType = "application/json";

// `code` as RESP has it in front of its errors.
wire::HttpResponse problem(int status, std::string_view detail, std::string_view code = "ERR");
wire::HttpResponse problem(const Error& error);

}  // namespace mete::server
