// Protocol Buffers, as far as etcd and the doors of gRPC need them: a message is a list of fields, each a number with a
// type. wire/grpc/proto_message.h reads and writes whole messages by their descriptions.
//
//     field    = varint (number << 3 | type) · value
//     varint     type 0: seven bits a byte, the lowest first
//     fixed64    type 1: eight bytes · fixed32, type 5: four; skipped here
//     bytes      type 2: varint length · bytes; also a message within the message
//
// Pure. A writer leaves out what is zero or empty, as the format has it. A reader checks every length: whatever the
// bytes are, it never reads past their end, and ends with an error at the first that cannot be.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mete::wire {

class ProtobufWriter {
 public:
  ProtobufWriter& number(std::uint32_t field, std::uint64_t value);
  ProtobufWriter& bytes(std::uint32_t field, std::string_view value);
  // Even if it is empty: one of a list, or the choice of a oneof.
  ProtobufWriter& message(std::uint32_t field, std::string_view value);
  // A zero that is the choice of a oneof.
  ProtobufWriter& chosen_number(std::uint32_t field, std::uint64_t value);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  void varint(std::uint64_t value);
  void tag(std::uint32_t field, std::uint32_t type);

  std::string text_;
};

class ProtobufReader {
 public:
  // The bytes must outlive the reader and what it returns.
  explicit ProtobufReader(std::string_view text) : rest_(text) {}

  // Goes to the next field; false at the end, and after an error.
  [[nodiscard]] bool next();

  [[nodiscard]] std::uint32_t field() const { return field_; }
  // Of the present field; 0 or empty if it is of the other type.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::int64_t signed_number() const { return static_cast<std::int64_t>(number_); }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  // Which of the two it is; neither: it was skipped.
  [[nodiscard]] bool is_number() const { return is_number_; }
  [[nodiscard]] bool is_bytes() const { return is_bytes_; }
  // Numbers that stand one behind the other in the present field; false if it is something else.
  template <class Each>
  [[nodiscard]] bool read_packed(Each&& each) const {
    ProtobufReader numbers(bytes_);
    while (!numbers.rest_.empty()) {
      std::uint64_t number = 0;
      if (!numbers.varint(number)) return false;
      each(number);
    }
    return true;
  }

  // After the last next(): whether all of it could be read.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  bool fail();
  bool varint(std::uint64_t& value);
  bool take(std::uint64_t size, std::string_view& taken);

  std::string_view rest_;
  std::uint32_t field_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  bool is_number_ = false;
  bool is_bytes_ = false;
  bool is_whole_ = true;
};

}  // namespace mete::wire
