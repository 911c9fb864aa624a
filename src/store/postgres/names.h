// Names, keys, ids and tags as PostgreSQL's texts, which are UTF-8 without NUL: most are that as they are. Any other
// bytes, and a text that begins with \x, become \x and their hexadecimal digits, as PostgreSQL writes bytes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace mete::store::postgres {

std::string to_text(std::string_view bytes);
std::string from_text(std::string_view text);

}  // namespace mete::store::postgres
