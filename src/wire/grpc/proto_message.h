// Messages of Protocol Buffers as structures: their fields are described once, and read, written, told to whoever asks
// by reflection, and printed as a .proto file by that description.
//
//     struct Charge {
//       static constexpr std::string_view kProto = "mete.v1.Charge";
//       static void visit_proto(auto& value, auto&& each) {
//         each(1, "limit", value.limit, "The limit's name.");
//         each(3, "cost", value.cost, "How much; 1 where it is absent.");
//       }
//       std::string limit;
//       std::optional<std::int64_t> cost;
//     };
//
// A field is a truth value, a whole number, a text, an enumeration, a message, or a std::vector of these; a number that
// may be absent is a std::optional, and a message that may be a std::optional, too. A text that is a Bytes is "bytes"
// in the description. An enumeration has ProtoEnum<…>: its full name and its names from 0 on. Fields that are not
// described are skipped, as the format has it, and so are those that come as another type than the one described: a
// cost that is no varint must not be read as 0. A text that is not UTF-8 makes the message unreadable. A message within
// another one is named "package.Outer.Inner": packages have small letters. Pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "wire/protobuf.h"
#include "wire/text.h"

namespace mete::wire {

// A text of any bytes.
struct Bytes : std::string {
  using std::string::string;
  Bytes() = default;
  Bytes(std::string text) : std::string(std::move(text)) {}  // NOLINT(google-explicit-constructor)
};

template <class Value>
struct ProtoEnum;

template <class Value>
concept IsProtoMessage = requires {
  { Value::kProto } -> std::convertible_to<std::string_view>;
};

template <class Value>
inline constexpr bool kIsRepeated = false;
template <class Part>
inline constexpr bool kIsRepeated<std::vector<Part>> = true;
template <class Value>
inline constexpr bool kIsAbsentable = false;
template <class Part>
inline constexpr bool kIsAbsentable<std::optional<Part>> = true;

// --- Reading ---------------------------------------------------------------------------------------------------------

template <IsProtoMessage Message>
bool read_proto(std::string_view bytes, Message& message);

namespace proto {

template <class Value>
inline constexpr bool kComesAsBytes = std::convertible_to<const Value&, std::string_view> || IsProtoMessage<Value>;
template <class Part>
inline constexpr bool kComesAsBytes<std::vector<Part>> = kComesAsBytes<Part>;
template <class Part>
inline constexpr bool kComesAsBytes<std::optional<Part>> = kComesAsBytes<Part>;

// Whether the present field is of the type that the value is described with.
template <class Value>
bool is_of_type(const ProtobufReader& reader, const Value& /*value*/) {
  if constexpr (kComesAsBytes<Value>) return reader.is_bytes();
  return reader.is_number() || (kIsRepeated<Value> && reader.is_bytes());  // packed
}

template <class Value>
bool read_one(const ProtobufReader& reader, Value& value) {
  if constexpr (std::same_as<Value, std::string> || std::same_as<Value, Bytes>) {
    if (!std::same_as<Value, Bytes> && !is_utf8(reader.bytes())) return false;
    value.assign(reader.bytes());
  } else if constexpr (IsProtoMessage<Value>) {
    return read_proto(reader.bytes(), value);
  } else {
    value = static_cast<Value>(reader.number());
  }
  return true;
}

template <class Value>
bool read_value(const ProtobufReader& reader, Value& value) {
  if constexpr (kIsRepeated<Value>) {
    using Part = typename Value::value_type;
    if constexpr (std::integral<Part>) {
      if (reader.is_bytes()) {  // packed: one behind the other
        return reader.read_packed([&](std::uint64_t number) { value.push_back(static_cast<Part>(number)); });
      }
    }
    return read_one(reader, value.emplace_back());
  } else if constexpr (kIsAbsentable<Value>) {
    return read_one(reader, value ? *value : value.emplace());
  } else {
    return read_one(reader, value);
  }
}

}  // namespace proto

// False if the bytes are no message.
template <IsProtoMessage Message>
bool read_proto(std::string_view bytes, Message& message) {
  ProtobufReader reader(bytes);
  bool is_good = true;
  while (is_good && reader.next()) {
    Message::visit_proto(message,
                         [&](std::uint32_t number, std::string_view /*name*/, auto& value, auto&&... /*help*/) {
                           if (number != reader.field() || !proto::is_of_type(reader, value)) return;
                           is_good = is_good && proto::read_value(reader, value);
                         });
  }
  return is_good && reader.is_whole();
}

// --- Writing ---------------------------------------------------------------------------------------------------------

template <IsProtoMessage Message>
std::string write_proto(const Message& message);

namespace proto {

// `must`: also what is empty or 0, because it is one of a list, or was chosen.
template <class Value>
void write_one(ProtobufWriter& writer, std::uint32_t number, const Value& value, bool must) {
  if constexpr (std::convertible_to<const Value&, std::string_view>) {
    must ? writer.message(number, value) : writer.bytes(number, value);
  } else if constexpr (IsProtoMessage<Value>) {
    writer.message(number, write_proto(value));
  } else {
    const auto plain = static_cast<std::uint64_t>(value);
    must ? writer.chosen_number(number, plain) : writer.number(number, plain);
  }
}

template <class Value>
void write_value(ProtobufWriter& writer, std::uint32_t number, const Value& value) {
  if constexpr (kIsRepeated<Value>) {
    for (const auto& part : value) write_one(writer, number, part, true);
  } else if constexpr (kIsAbsentable<Value>) {
    if (value) write_one(writer, number, *value, true);
  } else {
    write_one(writer, number, value, false);
  }
}

}  // namespace proto

template <IsProtoMessage Message>
std::string write_proto(const Message& message) {
  ProtobufWriter writer;
  Message::visit_proto(message, [&](std::uint32_t number, std::string_view /*name*/, const auto& value,
                                    auto&&... /*help*/) { proto::write_value(writer, number, value); });
  return std::move(writer).take();
}

// --- Descriptions ----------------------------------------------------------------------------------------------------

enum class ProtoLabel : std::uint8_t { kSingle = 1, kRepeated = 3 };

// The types of google.protobuf.FieldDescriptorProto, by its numbers.
enum class ProtoType : std::uint8_t {
  kInt64 = 3,
  kUint64 = 4,
  kInt32 = 5,
  kBool = 8,
  kString = 9,
  kMessage = 11,
  kBytes = 12,
  kUint32 = 13,
  kEnum = 14,
};

struct ProtoField {
  std::uint32_t number = 0;
  std::string name = {};
  ProtoType type = ProtoType::kInt64;
  ProtoLabel label = ProtoLabel::kSingle;
  bool is_absentable = false;  // a number or a text that may be absent
  std::string type_name = {};  // of a message or an enumeration, in full
  std::string help = {};
};
struct ProtoMessageText {
  std::string name;
  std::string help;
  std::vector<ProtoField> fields;
};
struct ProtoEnumText {
  std::string name;
  std::vector<std::string> names;  // from 0 on
};
struct ProtoMethod {
  std::string name;
  std::string request;  // in full
  std::string answer;
  bool has_many_requests = false;
  bool has_many_answers = false;
  std::string help;
};
struct ProtoServiceText {
  std::string name;
  std::string help;
  std::vector<ProtoMethod> methods;
};

// What stands in the file of one package.
struct ProtoFile {
  std::string package;
  std::vector<ProtoServiceText> services;
  std::vector<ProtoMessageText> messages;
  std::vector<ProtoEnumText> enums;

  // "mete/v1/mete.proto" of mete.v1: the last word that is no version names the file.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<std::string> dependencies() const;
  // As google.protobuf.FileDescriptorProto.
  [[nodiscard]] std::string descriptor() const;
  // As people write it.
  [[nodiscard]] std::string text() const;
};

// Packages by their names, filled by the messages that services use.
class ProtoFiles {
 public:
  // Adds the message, and those that it has.
  template <IsProtoMessage Message>
  void add() {
    ProtoFile& file = file_of(Message::kProto);
    for (const ProtoMessageText& known : file.messages) {
      if (known.name == short_name(Message::kProto)) return;
    }
    const std::size_t place = file.messages.size();
    file.messages.push_back({std::string(short_name(Message::kProto)), {}, {}});
    if constexpr (requires { Message::kHelp; }) file.messages[place].help = Message::kHelp;
    std::vector<ProtoField> fields;
    Message message;
    Message::visit_proto(message, [&]<class Value>(std::uint32_t number, std::string_view name, const Value& /*value*/,
                                                   std::string_view help = {}) {
      fields.push_back(field_of<Value>(number, name, help));
    });
    file_of(Message::kProto).messages[place].fields = std::move(fields);
  }
  void add_method(std::string_view service, std::string_view help, ProtoMethod method);

  [[nodiscard]] const std::map<std::string, ProtoFile>& files() const { return files_; }
  // By the full name of a service, method, message or enumeration; null if there is none.
  [[nodiscard]] const ProtoFile* find_symbol(std::string_view symbol) const;
  [[nodiscard]] const ProtoFile* find_file(std::string_view name) const;

 private:
  static std::string_view package_of(std::string_view full);
  // Behind the package: of a message within another one "Outer.Inner".
  static std::string_view short_name(std::string_view full) { return full.substr(package_of(full).size() + 1); }
  ProtoFile& file_of(std::string_view full);

  template <class Value>
  ProtoField field_of(std::uint32_t number, std::string_view name, std::string_view help) {
    if constexpr (kIsRepeated<Value>) {
      ProtoField field = field_of<typename Value::value_type>(number, name, help);
      field.label = ProtoLabel::kRepeated;
      return field;
    } else if constexpr (kIsAbsentable<Value>) {
      ProtoField field = field_of<typename Value::value_type>(number, name, help);
      field.is_absentable = field.type != ProtoType::kMessage;  // a message may be absent anyway
      return field;
    } else {
      ProtoField field{.number = number, .name = std::string(name), .help = std::string(help)};
      if constexpr (IsProtoMessage<Value>) {
        add<Value>();
        field.type = ProtoType::kMessage;
        field.type_name = Value::kProto;
      } else if constexpr (std::is_enum_v<Value>) {
        add_enum(ProtoEnum<Value>::kProto, ProtoEnum<Value>::kNames);
        field.type = ProtoType::kEnum;
        field.type_name = ProtoEnum<Value>::kProto;
      } else {
        field.type = plain_type<Value>();
      }
      return field;
    }
  }
  template <class Value>
  static constexpr ProtoType plain_type() {
    if constexpr (std::same_as<Value, bool>) return ProtoType::kBool;
    if constexpr (std::same_as<Value, Bytes>) return ProtoType::kBytes;
    if constexpr (std::convertible_to<Value, std::string_view>) return ProtoType::kString;
    if constexpr (std::same_as<Value, std::int32_t>) return ProtoType::kInt32;
    if constexpr (std::same_as<Value, std::uint32_t>) return ProtoType::kUint32;
    if constexpr (std::same_as<Value, std::uint64_t>) return ProtoType::kUint64;
    return ProtoType::kInt64;
  }
  void add_enum(std::string_view full, std::span<const std::string_view> names);

  std::map<std::string, ProtoFile> files_;
};

}  // namespace mete::wire
