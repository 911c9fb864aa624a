#include "wire/grpc/proto_message.h"

#include <algorithm>

namespace mete::wire {

namespace {

// Field numbers of google/protobuf/descriptor.proto.
enum File : std::uint32_t {
  kFileName = 1,
  kPackage = 2,
  kDependency = 3,
  kMessages = 4,
  kEnums = 5,
  kServices = 6,
  kSyntax = 12
};
enum Message : std::uint32_t { kMessageName = 1, kFields = 2, kNestedMessages = 3, kNestedEnums = 4, kOneofs = 8 };
enum Field : std::uint32_t {
  kFieldName = 1,
  kNumber = 3,
  kLabel = 4,
  kType = 5,
  kTypeName = 6,
  kOneofIndex = 9,
  kJsonName = 10,
  kIsProto3Optional = 17,
};
enum Service : std::uint32_t { kServiceName = 1, kMethods = 2 };
enum Method : std::uint32_t { kMethodName = 1, kInput = 2, kOutput = 3, kClientStreams = 5, kServerStreams = 6 };
enum Enum : std::uint32_t { kEnumName = 1, kEnumValues = 2 };
enum EnumValue : std::uint32_t { kValueName = 1, kValueNumber = 2 };

std::string json_name(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_' && i + 1 < name.size()) {
      text += static_cast<char>(name[++i] - 'a' + 'A');
    } else {
      text += name[i];
    }
  }
  return text;
}

std::string field_descriptor(const ProtoField& field, std::uint64_t oneof) {
  ProtobufWriter writer;
  writer.bytes(kFieldName, field.name)
      .number(kNumber, field.number)
      .number(kLabel, static_cast<std::uint64_t>(field.label))
      .number(kType, static_cast<std::uint64_t>(field.type));
  if (!field.type_name.empty()) writer.bytes(kTypeName, "." + field.type_name);
  if (field.is_absentable) writer.chosen_number(kOneofIndex, oneof);
  writer.bytes(kJsonName, json_name(field.name));
  if (field.is_absentable) writer.number(kIsProto3Optional, 1);
  return std::move(writer).take();
}

// Of "Outer.Inner" the last.
std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }
// Whether the name is that of something directly within the message, or in the file itself where that is empty.
bool is_directly_within(std::string_view outer, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return (dot == std::string_view::npos ? std::string_view() : name.substr(0, dot)) == outer;
}

std::string enum_descriptor(const ProtoEnumText& names) {
  ProtobufWriter writer;
  writer.bytes(kEnumName, last_word(names.name));
  std::uint64_t number = 0;
  for (const std::string& name : names.names) {
    writer.message(kEnumValues, ProtobufWriter().bytes(kValueName, name).chosen_number(kValueNumber, number++).text());
  }
  return std::move(writer).take();
}

std::string message_descriptor(const ProtoFile& file, const ProtoMessageText& message) {
  ProtobufWriter writer;
  writer.bytes(kMessageName, last_word(message.name));
  std::uint64_t oneofs = 0;
  for (const ProtoField& field : message.fields) {
    writer.message(kFields, field_descriptor(field, oneofs));
    if (field.is_absentable) ++oneofs;
  }
  for (const ProtoMessageText& inner : file.messages) {
    if (is_directly_within(message.name, inner.name)) writer.message(kNestedMessages, message_descriptor(file, inner));
  }
  for (const ProtoEnumText& inner : file.enums) {
    if (is_directly_within(message.name, inner.name)) writer.message(kNestedEnums, enum_descriptor(inner));
  }
  // What may be absent is, for tools of older versions, the one member of a oneof.
  for (const ProtoField& field : message.fields) {
    if (field.is_absentable) writer.message(kOneofs, ProtobufWriter().bytes(1, "_" + field.name).text());
  }
  return std::move(writer).take();
}

std::string service_descriptor(const ProtoServiceText& service) {
  ProtobufWriter writer;
  writer.bytes(kServiceName, service.name);
  for (const ProtoMethod& method : service.methods) {
    writer.message(kMethods, ProtobufWriter()
                                 .bytes(kMethodName, method.name)
                                 .bytes(kInput, "." + method.request)
                                 .bytes(kOutput, "." + method.answer)
                                 .number(kClientStreams, method.has_many_requests ? 1 : 0)
                                 .number(kServerStreams, method.has_many_answers ? 1 : 0)
                                 .text());
  }
  return std::move(writer).take();
}

std::string_view type_text(ProtoType type) {
  switch (type) {
    case ProtoType::kInt64:
      return "int64";
    case ProtoType::kUint64:
      return "uint64";
    case ProtoType::kInt32:
      return "int32";
    case ProtoType::kBool:
      return "bool";
    case ProtoType::kString:
      return "string";
    case ProtoType::kBytes:
      return "bytes";
    case ProtoType::kUint32:
      return "uint32";
    case ProtoType::kMessage:
    case ProtoType::kEnum:
      return "";
  }
  return "";
}

// In the package itself the name alone will do.
std::string name_within(std::string_view package, const std::string& full) {
  const std::string prefix = std::string(package) + ".";
  return full.starts_with(prefix) ? full.substr(prefix.size()) : full;
}

std::string comment(std::string_view indent, std::string_view help) {
  return help.empty() ? "" : std::string(indent) + "// " + std::string(help) + "\n";
}

bool is_version(std::string_view word) { return word.size() > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9'; }

// Up to the first word with a capital letter.
std::string_view package_part(std::string_view full) {
  for (std::size_t dot = full.find('.'); dot != std::string_view::npos; dot = full.find('.', dot + 1)) {
    if (dot + 1 < full.size() && full[dot + 1] >= 'A' && full[dot + 1] <= 'Z') return full.substr(0, dot);
  }
  return full.substr(0, full.rfind('.'));
}

std::string file_name(std::string_view package) {
  std::string path(package);
  std::replace(path.begin(), path.end(), '.', '/');
  std::string_view rest = package;
  std::string_view word = rest.substr(rest.rfind('.') + 1);
  while (is_version(word)) {
    rest = rest.substr(0, rest.rfind('.'));
    word = rest.substr(rest.rfind('.') + 1);
  }
  return path + "/" + std::string(word) + ".proto";
}

}  // namespace

std::string ProtoFile::name() const { return file_name(package); }

std::vector<std::string> ProtoFile::dependencies() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& full) {
    if (full.empty() || package_part(full) == package) return;
    const std::string file = file_name(package_part(full));
    if (std::find(names.begin(), names.end(), file) == names.end()) names.push_back(file);
  };
  for (const ProtoMessageText& message : messages) {
    for (const ProtoField& field : message.fields) add(field.type_name);
  }
  for (const ProtoServiceText& service : services) {
    for (const ProtoMethod& method : service.methods) {
      add(method.request);
      add(method.answer);
    }
  }
  return names;
}

std::string ProtoFile::descriptor() const {
  ProtobufWriter writer;
  writer.bytes(kFileName, name()).bytes(kPackage, package);
  for (const std::string& dependency : dependencies()) writer.bytes(kDependency, dependency);
  for (const ProtoMessageText& message : messages) {
    if (is_directly_within("", message.name)) writer.message(kMessages, message_descriptor(*this, message));
  }
  for (const ProtoEnumText& names : enums) {
    if (is_directly_within("", names.name)) writer.message(kEnums, enum_descriptor(names));
  }
  for (const ProtoServiceText& service : services) writer.message(kServices, service_descriptor(service));
  writer.bytes(kSyntax, "proto3");
  return std::move(writer).take();
}

std::string ProtoFile::text() const {
  std::string text = "syntax = \"proto3\";\n\npackage " + package + ";\n";
  for (const std::string& dependency : dependencies()) text += "\nimport \"" + dependency + "\";\n";
  for (const ProtoServiceText& service : services) {
    text += "\n" + comment("", service.help) + "service " + service.name + " {\n";
    for (const ProtoMethod& method : service.methods) {
      text += comment("  ", method.help) + "  rpc " + method.name + "(" + (method.has_many_requests ? "stream " : "") +
              name_within(package, method.request) + ") returns (" + (method.has_many_answers ? "stream " : "") +
              name_within(package, method.answer) + ");\n";
    }
    text += "}\n";
  }
  for (const ProtoEnumText& names : enums) {
    text += "\nenum " + names.name + " {\n";
    for (std::size_t number = 0; number < names.names.size(); ++number) {
      text += "  " + names.names[number] + " = " + std::to_string(number) + ";\n";
    }
    text += "}\n";
  }
  for (const ProtoMessageText& message : messages) {
    text += "\n" + comment("", message.help) + "message " + message.name + " {\n";
    for (const ProtoField& field : message.fields) {
      const std::string label =
          field.label == ProtoLabel::kRepeated ? "repeated " : (field.is_absentable ? "optional " : "");
      const std::string type =
          field.type_name.empty() ? std::string(type_text(field.type)) : name_within(package, field.type_name);
      text += comment("  ", field.help);
      text += "  ";
      text += label;
      text += type;
      text += ' ';
      text += field.name;
      text += " = " + std::to_string(field.number) + ";\n";
    }
    text += "}\n";
  }
  return text;
}

std::string_view ProtoFiles::package_of(std::string_view full) { return package_part(full); }

ProtoFile& ProtoFiles::file_of(std::string_view full) {
  ProtoFile& file = files_[std::string(package_of(full))];
  if (file.package.empty()) file.package = package_of(full);
  return file;
}

void ProtoFiles::add_method(std::string_view service, std::string_view help, ProtoMethod method) {
  ProtoFile& file = file_of(service);
  const std::string_view name = short_name(service);
  const auto found = std::find_if(file.services.begin(), file.services.end(),
                                  [&](const ProtoServiceText& each) { return each.name == name; });
  ProtoServiceText& of = found != file.services.end()
                             ? *found
                             : file.services.emplace_back(ProtoServiceText{std::string(name), std::string(help), {}});
  of.methods.push_back(std::move(method));
}

void ProtoFiles::add_enum(std::string_view full, std::span<const std::string_view> names) {
  ProtoFile& file = file_of(full);
  const std::string_view name = short_name(full);
  for (const ProtoEnumText& known : file.enums) {
    if (known.name == name) return;
  }
  file.enums.push_back({std::string(name), {names.begin(), names.end()}});
}

const ProtoFile* ProtoFiles::find_symbol(std::string_view symbol) const {
  for (const auto& [package, file] : files_) {
    if (!symbol.starts_with(package + ".")) continue;
    const std::string_view name = symbol.substr(package.size() + 1);
    const auto is_it = [&](const auto& each) { return each.name == name; };
    if (std::any_of(file.messages.begin(), file.messages.end(), is_it)) return &file;
    if (std::any_of(file.enums.begin(), file.enums.end(), is_it)) return &file;
    for (const ProtoServiceText& service : file.services) {
      if (service.name == name) return &file;
      for (const ProtoMethod& method : service.methods) {
        if (name == service.name + "." + method.name) return &file;
      }
    }
  }
  return nullptr;
}

const ProtoFile* ProtoFiles::find_file(std::string_view name) const {
  for (const auto& [package, file] : files_) {
    if (file.name() == name) return &file;
  }
  return nullptr;
}

}  // namespace mete::wire
