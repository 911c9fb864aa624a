// Refusals, ready to be returned.
//
//     if (text.empty()) return base::invalid("the name is missing");
#pragma once

#include <mete/result.h>

#include <string>

namespace mete::base {

tl::unexpected<Error> invalid(std::string message);
tl::unexpected<Error> unavailable(std::string message);

}  // namespace mete::base
