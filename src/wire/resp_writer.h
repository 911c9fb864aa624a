// RespWriter: replies in RESP2 or RESP3, appended to an Output.
//
// Thread safety: none; it borrows the output for as long as it lives.
#pragma once

#include <mete/result.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/decimal.h"
#include "base/output.h"

namespace mete::wire {

enum class RespVersion : std::uint8_t { k2 = 2, k3 = 3 };

class RespWriter {
 public:
  RespWriter(base::Output& output, RespVersion version) : output_(output), version_(version) {}

  [[nodiscard]] RespVersion version() const { return version_; }
  void set_version(RespVersion version) { version_ = version; }
  // How many bytes have been written to the output.
  [[nodiscard]] std::size_t position() const { return output_.size(); }

  // How many errors have been written.
  [[nodiscard]] std::uint64_t errors() const { return errors_; }

  void simple(std::string_view text) { line('+', text); }
  void ok() { output_.append("+OK\r\n"); }
  // "CODE message". Line ends in the message become spaces: an error is one line.
  void error(std::string_view code, std::string_view message);
  void error(const Error& error) { this->error(to_string(error.code), error.message); }
  void integer(std::int64_t value) { number(':', value); }
  void bulk(std::string_view bytes) {
    number('$', static_cast<std::int64_t>(bytes.size()));
    char* at = output_.reserve(bytes.size() + 2);
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    at += bytes.size();
    std::memcpy(at, "\r\n", 2);
    output_.advance_to(at + 2);
  }
  // A whole reply that was written before, in this version.
  void written(std::string_view reply) { output_.append(reply); }
  // Text for people: as such in RESP3, a bulk in RESP2.
  void verbatim(std::string_view text);
  void null() { output_.append(version_ == RespVersion::k3 ? "_\r\n" : "$-1\r\n"); }
  void null_array() { output_.append(version_ == RespVersion::k3 ? "_\r\n" : "*-1\r\n"); }
  void array(std::size_t elements) { number('*', static_cast<std::int64_t>(elements)); }
  // A map of so many pairs: write key and value in turn. RESP2: a flat array.
  void map(std::size_t pairs) {
    if (version_ == RespVersion::k3) {
      number('%', static_cast<std::int64_t>(pairs));
    } else {
      array(pairs * 2);
    }
  }
  void set(std::size_t elements) {
    number(version_ == RespVersion::k3 ? '~' : '*', static_cast<std::int64_t>(elements));
  }

  // An array of integers, in one piece: what decisions are made of.
  template <class... Values>
  void integers(Values... values) {
    integers_first(sizeof...(values), values...);
  }
  // The same as the first ones of an array of so many elements.
  template <class... Values>
  void integers_first(std::size_t elements, Values... values) {
    char* at = output_.reserve((sizeof...(values) + 1) * kNumberBytesMax);
    at = put_number(at, '*', static_cast<std::int64_t>(elements));
    ((at = put_number(at, ':', values)), ...);
    output_.advance_to(at);
  }

 private:
  // A mark, the number, CR LF.
  static constexpr std::size_t kNumberBytesMax = base::kDecimalBytesMax + 3;

  void line(char mark, std::string_view text);
  void number(char mark, std::int64_t value) {
    output_.advance_to(put_number(output_.reserve(kNumberBytesMax), mark, value));
  }
  static char* put_number(char* at, char mark, std::int64_t value) {
    if (value >= 0 && value < 10) {  // nearly half of all
      const std::array<char, 4> line = {mark, static_cast<char>('0' + value), '\r', '\n'};
      std::memcpy(at, line.data(), line.size());
      return at + line.size();
    }
    *at = mark;
    at = base::write_decimal(at + 1, value);
    std::memcpy(at, "\r\n", 2);
    return at + 2;
  }

  base::Output& output_;
  std::uint64_t errors_ = 0;
  RespVersion version_;
};

}  // namespace mete::wire
