#include "server/envoy/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::server::envoy {

namespace {

constexpr std::size_t kDepthMax = 64;
// Ten aliases of ten aliases of … are a small text and a large tree.
constexpr std::size_t kNodesMax = std::size_t{1} << 20;

Error error_at(std::size_t line, std::string_view words) {
  return base::invalid("line " + std::to_string(line) + ": " + std::string(words));
}

// libyaml's parser, one event at a time.
class Events {
 public:
  explicit Events(std::string_view text) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    if (ready_)
      yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Events() {
    yaml_event_delete(&event_);
    if (ready_) yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  Result<void> next() {
    yaml_event_delete(&event_);
    event_ = {};
    if (!ready_) return base::out_of_memory("there is no memory to read YAML with");
    if (yaml_parser_parse(&parser_, &event_) != 0) return {};
    const char* const problem = parser_.problem == nullptr ? "this is no YAML" : parser_.problem;
    return error_at(parser_.problem_mark.line + 1, problem);
  }

  [[nodiscard]] yaml_event_type_t type() const { return event_.type; }
  [[nodiscard]] std::size_t line() const { return event_.start_mark.line + 1; }
  [[nodiscard]] const yaml_event_t& event() const { return event_; }

 private:
  yaml_parser_t parser_ = {};
  yaml_event_t event_ = {};
  bool ready_ = false;
};

std::string text_of(const unsigned char* bytes) {
  return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes));
}

class Builder {
 public:
  explicit Builder(std::string_view text) : events_(text) {}

  Result<YamlNode> read() {
    TRY(events_.next());  // the stream begins
    TRY(events_.next());
    if (events_.type() == YAML_STREAM_END_EVENT) return nothing();
    TRY(events_.next());  // the document has begun
    YamlNode root = TRY(node(0));
    TRY(events_.next());  // it ends
    TRY(events_.next());
    if (events_.type() != YAML_STREAM_END_EVENT) {
      return error_at(events_.line(), "a second document begins: a file has one");
    }
    return root;
  }

 private:
  static YamlNode nothing() {
    YamlNode node;
    node.is_plain = true;
    node.line = 1;
    return node;
  }
  [[nodiscard]] YamlNode begun(YamlNode::Kind kind) const {
    YamlNode node;
    node.kind = kind;
    node.line = events_.line();
    return node;
  }

  // The node that the present event begins. Afterwards the present event is its last one.
  Result<YamlNode> node(std::size_t depth) {
    if (depth > kDepthMax) {
      return error_at(events_.line(), "this goes deeper than " + std::to_string(kDepthMax) + " levels");
    }
    TRY(count(1));
    const yaml_event_t& event = events_.event();
    switch (events_.type()) {
      case YAML_ALIAS_EVENT:
        return alias(text_of(event.data.alias.anchor));
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        YamlNode made = begun(YamlNode::Kind::kScalar);
        made.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        made.is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return anchored(text_of(scalar.anchor), std::move(made));
      }
      case YAML_SEQUENCE_START_EVENT:
        return list(depth, text_of(event.data.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT:
        return map(depth, text_of(event.data.mapping_start.anchor));
      default:
        return error_at(events_.line(), "a value is missing");
    }
  }

  Result<YamlNode> list(std::size_t depth, std::string anchor) {
    YamlNode made = begun(YamlNode::Kind::kList);
    for (;;) {
      TRY(events_.next());
      if (events_.type() == YAML_SEQUENCE_END_EVENT) return anchored(std::move(anchor), std::move(made));
      made.items.push_back(TRY(node(depth + 1)));
    }
  }

  Result<YamlNode> map(std::size_t depth, std::string anchor) {
    YamlNode made = begun(YamlNode::Kind::kMap);
    std::vector<YamlNode> merged;
    for (;;) {
      TRY(events_.next());
      if (events_.type() == YAML_MAPPING_END_EVENT) break;
      YamlNode key = TRY(node(depth + 1));
      TRY(events_.next());
      YamlNode value = TRY(node(depth + 1));
      if (key.is_scalar() && key.is_plain && key.text == "<<") {
        merged.push_back(std::move(value));
      } else if (has(made, key)) {
        return error_at(key.line, wire::quote(key.text) + " stands twice in one map");
      } else {
        made.entries.push_back({std::move(key), std::move(value)});
      }
    }
    for (const YamlNode& each : merged) TRY(merge(made, each));
    return anchored(std::move(anchor), std::move(made));
  }

  // What stands in the map itself goes first, and then what was merged first.
  static Result<void> merge(YamlNode& map, const YamlNode& merged) {
    if (merged.is_list()) {
      for (const YamlNode& each : merged.items) TRY(merge(map, each));
      return {};
    }
    if (!merged.is_map()) return error_at(merged.line, "<< takes a map, or a list of maps");
    for (const YamlEntry& entry : merged.entries) {
      if (!has(map, entry.key)) map.entries.push_back(entry);
    }
    return {};
  }

  static bool has(const YamlNode& map, const YamlNode& key) {
    return key.is_scalar() && std::any_of(map.entries.begin(), map.entries.end(), [&](const YamlEntry& entry) {
             return entry.key.is_scalar() && entry.key.text == key.text;
           });
  }

  Result<YamlNode> alias(const std::string& name) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return error_at(events_.line(), "*" + name + " names no anchor above it");
    TRY(count(found->second.nodes));
    return found->second.node;
  }

  YamlNode anchored(std::string anchor, YamlNode made) {
    if (!anchor.empty()) anchors_[std::move(anchor)] = {made, nodes_of(made)};
    return made;
  }

  static std::size_t nodes_of(const YamlNode& node) {
    std::size_t sum = 1;
    for (const YamlNode& item : node.items) sum += nodes_of(item);
    for (const YamlEntry& entry : node.entries) sum += nodes_of(entry.key) + nodes_of(entry.value);
    return sum;
  }

  Result<void> count(std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ <= kNodesMax) return {};
    return error_at(events_.line(), "there are more than " + std::to_string(kNodesMax) + " values, aliases unfolded");
  }

  struct Anchored {
    YamlNode node;
    std::size_t nodes = 0;
  };

  Events events_;
  std::unordered_map<std::string, Anchored> anchors_;
  std::size_t nodes_ = 0;
};

bool is_number(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  if (text.empty() || (text.front() != '.' && (text.front() < '0' || text.front() > '9'))) return false;
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

bool is_one_of(std::string_view text, auto... names) { return ((wire::equals_ignoring_case(text, names)) || ...); }

}  // namespace

bool YamlNode::is_nothing() const {
  return is_scalar() && is_plain && (text.empty() || text == "~" || is_one_of(text, "null"));
}

bool YamlNode::is_text() const {
  if (!is_scalar()) return false;
  return !is_plain || !(is_nothing() || is_number(text) || is_one_of(text, "true", "false", "yes", "no", "on", "off"));
}

Result<YamlNode> read_yaml(std::string_view text) { return Builder(text).read(); }

}  // namespace mete::server::envoy
