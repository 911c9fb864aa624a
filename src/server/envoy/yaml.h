// YAML: texts to nodes, each with the place where it stands. libyaml reads the text; this keeps what people wrote:
// which scalars were quoted, the order of a map's entries, the line of everything.
//
// What would surprise is an error: a key that stands twice in one map, an alias of nothing, a second document. Anchors
// and merge keys (`<<`) work as in YAML 1.1. How deep a text goes, and how many nodes its aliases make, is bounded.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mete::server::envoy {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { kScalar, kList, kMap };

  Kind kind = Kind::kScalar;
  std::string text;                // of a scalar
  bool is_plain = false;           // a scalar without quotes, which may be a number, a truth or nothing
  std::size_t line = 0;            // from 1
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map

  [[nodiscard]] bool is_map() const { return kind == Kind::kMap; }
  [[nodiscard]] bool is_list() const { return kind == Kind::kList; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::kScalar; }
  // An empty plain scalar, `~` or `null`: an entry without a value.
  [[nodiscard]] bool is_nothing() const;
  // A scalar that is a text in YAML: quoted, or neither a number nor a truth nor nothing.
  [[nodiscard]] bool is_text() const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

// The one document of a text; a scalar that is nothing where the text has none. An error begins with "line N: ".
Result<YamlNode> read_yaml(std::string_view text);

}  // namespace mete::server::envoy
