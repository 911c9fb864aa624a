// Arguments: the words of one request, read by the command's declaration: typed, whole, and checked once.
//
// An argument is asked for by its position in the declaration. Views are into the request.
// Thread safety: none; one per session, reused.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <array>
#include <span>
#include <string_view>

#include "server/doors/resp/command.h"

namespace mete::server {

inline constexpr std::size_t kArgumentsMax = 16;  // of one command's declaration

class Arguments {
 public:
  // `words` without the name. The error is as Redis says it.
  Result<void> read(const Command& command, std::span<const std::string_view> words);

  [[nodiscard]] bool has(std::size_t index) const { return (present_ >> index & 1U) != 0; }
  [[nodiscard]] std::string_view text(std::size_t index) const { return values_[index].text; }
  [[nodiscard]] std::int64_t integer(std::size_t index) const { return values_[index].integer; }
  [[nodiscard]] std::int64_t integer_or(std::size_t index, std::int64_t otherwise) const {
    return has(index) ? integer(index) : otherwise;
  }
  [[nodiscard]] std::string_view text_or(std::size_t index, std::string_view otherwise) const {
    return has(index) ? text(index) : otherwise;
  }
  // Durations and decimals.
  [[nodiscard]] Duration duration(std::size_t index) const { return Duration::from_ns(values_[index].integer); }
  // The words of the argument that takes all that follow.
  [[nodiscard]] std::span<const std::string_view> rest() const { return rest_; }
  [[nodiscard]] std::span<const Charge> charges() const { return {charges_.data(), charge_count_}; }

 private:
  struct Value {
    std::string_view text;
    std::int64_t integer = 0;
  };

  Result<void> read_option(const Command& command, std::span<const std::string_view>& words);
  bool read_plainly(const Argument& argument, std::size_t index, std::string_view word);
  Result<void> read_value(const Argument& argument, std::size_t index, std::string_view word);
  Result<void> add_charge(std::span<const std::string_view>& words);

  std::uint32_t present_ = 0;
  std::array<Value, kArgumentsMax> values_;
  std::array<Charge, kChargesMax> charges_;
  std::size_t charge_count_ = 0;
  bool has_cost_ = false;  // of the last charge
  std::span<const std::string_view> rest_;
};

// An integer of 64 bits; the error is as Redis says it.
Result<std::int64_t> parse_integer(std::string_view word);

}  // namespace mete::server
