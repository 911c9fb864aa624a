// Random bits from the system, for seeds and for ids that nobody can guess.
#pragma once

#include <cstdint>
#include <string>

namespace mete::base {

std::uint64_t random_number();

// 128 random bits as 32 hexadecimal digits.
std::string random_id();

}  // namespace mete::base
