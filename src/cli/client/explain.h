// What an error of the server means to somebody at the command line, and what to do next.
#pragma once

#include <mete/result.h>

#include <string>
#include <string_view>

namespace mete::cli {

// `reply` as the server sent it: "NOLIMIT unknown limit 'api'".
Error explain(std::string_view reply);

// As a word of a shell; a name that would need quotes stays for the reader to fill in: NAME.
std::string word_for_shell(std::string_view name);

Error no_limit(std::string_view name);
Error no_hold(std::string_view id);

}  // namespace mete::cli
