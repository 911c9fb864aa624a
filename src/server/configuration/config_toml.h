// The text of a TOML file as plain values with their places. The one place that knows the TOML library.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mete::server {

struct TextPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  auto operator<=>(const TextPosition&) const = default;
  // "line:column"
  [[nodiscard]] std::string text() const { return std::to_string(line) + ":" + std::to_string(column); }
};

// A type that no setting has: "float", "date", "table", …
struct OtherType {
  std::string_view name;

  bool operator==(const OtherType&) const = default;
};

struct FileValue {
  using Value = std::variant<std::int64_t, std::string, bool, std::vector<std::string>, OtherType>;

  std::string name;  // "server.tls.cert"; in a FileTable without the table's name
  Value value;
  TextPosition key_place;
  TextPosition place;
};

struct FileTable {
  std::vector<FileValue> values;  // in the order of the file
  TextPosition place;
};

// The tables of the file, with all below them flattened; an empty one is a value of type "table".
struct FileContents {
  std::vector<FileValue> values;  // in the order of the file
  std::vector<FileTable> limits;
  std::vector<FileTable> syncs;
};

// Refuses what is no TOML, and a `limit` or `sync` that is not written [[limit]]. Errors begin with "line:column: ".
Result<FileContents> read_toml(std::string_view text);

}  // namespace mete::server
