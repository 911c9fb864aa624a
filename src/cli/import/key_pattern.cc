#include "cli/import/key_pattern.h"

#include "base/check.h"
#include "base/errors.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

std::vector<std::string> split_at_stars(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::size_t star = text.find('*'); star != std::string_view::npos; star = text.find('*')) {
    pieces.emplace_back(text.substr(0, star));
    text.remove_prefix(star + 1);
  }
  pieces.emplace_back(text);
  return pieces;
}

std::string escaped_for_glob(std::string_view piece) {
  std::string text;
  for (const char sign : piece) {
    if (std::string_view("\\?[]").find(sign) != std::string_view::npos) text += '\\';
    text += sign;
  }
  return text;
}

}  // namespace

Result<KeyPattern> KeyPattern::parse(std::string_view text, std::size_t stars) {
  std::vector<std::string> pieces = split_at_stars(text);
  if (pieces.size() != stars + 1) {
    const std::string needed = stars == 1 ? "one star, in the place of the key: 'quota:tenant:*:used'"
                                          : "two stars, for the key and the month: 'users:*:quota:*'";
    return base::invalid("needs " + needed + ", and not " + shown(text));
  }
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    if (!pieces[i].empty()) continue;
    return base::invalid("has two stars side by side, and nothing tells where one ends: " + shown(text));
  }
  return KeyPattern(std::move(pieces));
}

std::optional<std::vector<std::string>> KeyPattern::match(std::string_view name) const {
  const std::string& front = pieces_.front();
  const std::string& back = pieces_.back();
  if (name.size() < front.size() + back.size() || !name.starts_with(front) || !name.ends_with(back)) {
    return std::nullopt;
  }
  std::string_view rest = name.substr(front.size(), name.size() - front.size() - back.size());
  std::vector<std::string> parts(pieces_.size() - 1);
  // From the end, so that what is in doubt goes to the first star: a key may be anything, a month may not.
  for (std::size_t i = parts.size() - 1; i > 0; --i) {
    const std::size_t found = rest.rfind(pieces_[i]);
    if (found == std::string_view::npos) return std::nullopt;
    parts[i] = rest.substr(found + pieces_[i].size());
    rest = rest.substr(0, found);
  }
  parts[0] = rest;
  return parts;
}

std::string KeyPattern::name_with(std::string_view part) const {
  CHECK(pieces_.size() == 2);
  return pieces_[0] + std::string(part) + pieces_[1];
}

std::string KeyPattern::glob() const {
  std::string glob = escaped_for_glob(pieces_.front());
  for (std::size_t i = 1; i < pieces_.size(); ++i) glob += '*' + escaped_for_glob(pieces_[i]);
  return glob;
}

std::string KeyPattern::text() const {
  std::string text = pieces_.front();
  for (std::size_t i = 1; i < pieces_.size(); ++i) text += '*' + pieces_[i];
  return text;
}

}  // namespace mete::cli
