// What an error of the server means to somebody at the command line, and what to do next.
#pragma once

#include <mete/result.h>

#include <string_view>

namespace mete::cli {

// `reply` as the server sent it: "NOLIMIT unknown limit 'api'".
Error explain(std::string_view reply);

Error no_limit(std::string_view name);
Error no_hold(std::string_view id);

}  // namespace mete::cli
