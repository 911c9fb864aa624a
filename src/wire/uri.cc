#include "wire/uri.h"

#include <algorithm>

#include "base/errors.h"
#include "wire/text.h"

namespace mete::wire {

namespace {

// -1 for what is no hexadecimal digit.
int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool is_unreserved(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '-' ||
         byte == '.' || byte == '_' || byte == '~';
}

}  // namespace

Result<Target> split_target(std::string_view target) {
  std::string_view rest = target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t host_end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    if (host_end == scheme.size()) return base::invalid("target: " + quote(target) + " has no host");
    rest = target.substr(host_end);
    if (!rest.starts_with('/')) return Target{"/", rest.substr(std::min<std::size_t>(1, rest.size()))};
  }
  if (!rest.starts_with('/')) return base::invalid("target: " + quote(target) + " does not start with '/'");
  const std::size_t question = rest.find('?');
  if (question == std::string_view::npos) return Target{rest, {}};
  return Target{rest.substr(0, question), rest.substr(question + 1)};
}

Result<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    if (segments.size() == kPathSegmentsMax) {
      return base::invalid("path: more than " + std::to_string(kPathSegmentsMax) + " segments");
    }
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = percent_decode(path.substr(0, end), Plus::kIsPlus);
    if (!segment) return base::invalid("path: " + segment.error().message);
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

Result<std::vector<QueryParameter>> split_query(std::string_view query, Names names) {
  std::vector<QueryParameter> parameters;
  if (query.empty()) return parameters;
  for (bool is_last = false; !is_last;) {
    const std::size_t end = query.find('&');
    is_last = end == std::string_view::npos;
    const std::string_view piece = query.substr(0, end);
    query = is_last ? std::string_view() : query.substr(end + 1);
    const std::size_t equals = std::min(piece.find('='), piece.size());
    auto name = percent_decode(piece.substr(0, equals), Plus::kIsSpace);
    if (!name) return base::invalid("query: " + name.error().message);
    auto value = percent_decode(piece.substr(std::min(equals + 1, piece.size())), Plus::kIsSpace);
    if (!value) return base::invalid("query: " + quote(*name) + ": " + value.error().message);
    if (name->empty()) return base::invalid("query: a parameter without a name");
    const auto is_same = [&](const QueryParameter& other) { return other.name == *name; };
    if (names == Names::kOnce && std::any_of(parameters.begin(), parameters.end(), is_same)) {
      return base::invalid("query: " + quote(*name) + " is there twice");
    }
    if (parameters.size() == kQueryParametersMax) {
      return base::invalid("query: more than " + std::to_string(kQueryParametersMax) + " parameters");
    }
    parameters.push_back({std::move(*name), std::move(*value)});
  }
  return parameters;
}

Result<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at] == '+' && plus == Plus::kIsSpace ? ' ' : text[at];
      continue;
    }
    const int high = at + 2 < text.size() ? hex_value(text[at + 1]) : -1;
    const int low = at + 2 < text.size() ? hex_value(text[at + 2]) : -1;
    if (high < 0 || low < 0) {
      return base::invalid(quote(text.substr(at, 3)) + " is not an escape: write %XX with two hexadecimal digits");
    }
    if (high == 0 && low == 0) return base::invalid("%00 is not allowed");
    decoded += static_cast<char>(high * 16 + low);
    at += 2;
  }
  if (!is_utf8(decoded)) return base::invalid(quote(decoded) + " is not UTF-8");
  return decoded;
}

std::string percent_encode(std::string_view bytes) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char byte : bytes) {
    if (is_unreserved(byte)) {
      encoded += byte;
      continue;
    }
    const auto code = static_cast<unsigned char>(byte);
    encoded += '%';
    encoded += kHex[code >> 4];
    encoded += kHex[code & 15U];
  }
  return encoded;
}

}  // namespace mete::wire
