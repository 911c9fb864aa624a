#include "server/configuration/config_toml.h"

#include <toml++/toml.h>
#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::server {

namespace {

TextPosition position_of(const toml::source_region& source) { return {source.begin.line, source.begin.column}; }

std::string_view type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "table";
    case toml::node_type::array:
      return "array";
    case toml::node_type::floating_point:
      return "float";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "date or time";
    default:
      return "value";
  }
}

FileValue::Value read_array(const toml::array& array) {
  std::vector<std::string> items;
  for (const toml::node& item : array) {
    const auto* text = item.as_string();
    if (text == nullptr) return OtherType{"array of other things than strings"};
    items.push_back(text->get());
  }
  return items;
}

FileValue::Value read_value(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  if (const auto* array = node.as_array()) return read_array(*array);
  return OtherType{type_name(node.type())};
}

// The library bounds how deep tables can be nested.
void flatten(const toml::table& table, const std::string& prefix, std::vector<FileValue>& values) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const auto* inner = node.as_table();
    if (inner != nullptr && !inner->empty()) {
      flatten(*inner, name + ".", values);
    } else {
      values.push_back({name, read_value(node), position_of(key.source()), position_of(node.source())});
    }
  }
}

std::vector<FileValue> flatten_in_order(const toml::table& table) {
  std::vector<FileValue> values;
  flatten(table, "", values);
  std::stable_sort(values.begin(), values.end(),
                   [](const FileValue& left, const FileValue& right) { return left.key_place < right.key_place; });
  return values;
}

// Takes the [[name]] tables out of `root`.
Result<std::vector<FileTable>> take_tables(toml::table& root, std::string_view name) {
  std::vector<FileTable> tables;
  const toml::node* node = root.get(name);
  if (node == nullptr) return tables;
  const std::string wanted = std::string(name) + " must be written [[" + std::string(name) + "]], once for each";
  const toml::array* array = node->as_array();
  if (array == nullptr) return base::invalid_at(position_of(node->source()).text(), wanted);
  for (const toml::node& item : *array) {
    const toml::table* table = item.as_table();
    if (table == nullptr) return base::invalid_at(position_of(item.source()).text(), wanted);
    tables.push_back({flatten_in_order(*table), position_of(item.source())});
  }
  root.erase(name);
  return tables;
}

Result<FileContents> read_root(toml::table& root) {
  FileContents contents;
  for (const auto& [name, tables] : {std::pair{"limit", &contents.limits}, std::pair{"sync", &contents.syncs}}) {
    auto taken = TRY(take_tables(root, name));
    *tables = std::move(taken);
  }
  contents.values = flatten_in_order(root);
  return contents;
}

// The library's messages may quote the file's bytes.
std::string printable(std::string_view message) {
  std::string text(message);
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, ' ');
  return text;
}

}  // namespace

Result<FileContents> read_toml(std::string_view text) {
  if (!wire::is_utf8(text)) return base::invalid_at(TextPosition{1, 1}.text(), "the file is not UTF-8");
  try {
    toml::table root = toml::parse(text);
    return read_root(root);
  } catch (const toml::parse_error& error) {
    return base::invalid_at(position_of(error.source()).text(), printable(error.description()));
  }
}

}  // namespace mete::server
