// The interactive demonstration: a limiter in memory, and a prompt to try it with.
#pragma once

#include <iosfwd>

namespace mete::cli {

// Reads commands until the input ends or says quit. `has_prompt`: a person is typing.
int run_demo(std::istream& in, std::ostream& out, bool has_prompt);

}  // namespace mete::cli
