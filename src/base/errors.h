// Errors, ready to be returned.
//
//     if (text.empty()) return base::invalid("the name is missing");
#pragma once

#include <mete/result.h>

#include <string>

namespace mete::base {

Error invalid(std::string message);
// `place` is where the input stands: a line of a file, a variable, a flag.
Error invalid_at(const std::string& place, const std::string& message);
Error unavailable(std::string message);
Error out_of_memory(std::string message);

}  // namespace mete::base
