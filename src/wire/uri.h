// The target of a request: its path and query, taken apart and unescaped.
//
// Text in a URI is UTF-8 without NUL, as in JSON: an escape that makes anything else is refused, and so are escapes
// that are none. A '+' is a space in a query, as forms have it, and a '+' in a path. An escaped '/' does not separate.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mete::wire {

inline constexpr std::size_t kPathSegmentsMax = 16;
inline constexpr std::size_t kQueryParametersMax = 32;

struct Target {
  std::string_view path;   // starts with '/'
  std::string_view query;  // without its '?'; empty if there is none
};

// Takes "/path?query" and "http://host/path?query", as clients send it to proxies; what a proxy's host is does not
// matter here.
Result<Target> split_target(std::string_view target);

// "/v1/limits/a%2Fb" is "v1", "limits", "a/b". A path that ends in '/' has an empty last segment; "/" has it alone.
Result<std::vector<std::string>> split_path(std::string_view path);

struct QueryParameter {
  std::string name;
  std::string value;  // empty where there is no '='
};
// Unless names may repeat, none may be there twice: two readers might disagree on which one counts.
enum class Names : std::uint8_t { kOnce, kMayRepeat };
Result<std::vector<QueryParameter>> split_query(std::string_view query, Names names = Names::kOnce);

enum class Plus : std::uint8_t { kIsPlus, kIsSpace };
Result<std::string> percent_decode(std::string_view text, Plus plus);
// For any segment of a path or value of a query: all but letters, digits and "-._~" is escaped.
std::string percent_encode(std::string_view bytes);

}  // namespace mete::wire
