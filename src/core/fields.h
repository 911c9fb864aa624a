// Fields: values as flat lists of integers and texts, which is how Mete servers tell them to each other. Pure.
//
// The order of a value's fields is said once, by its visit_fields() in operation_fields.h, for all who go through them:
//
//     FieldCounter      how many there are
//     FieldWriter       to a sink: words of a command, or elements of a reply
//     FieldReader       from a source of either; what is out of its range, missing or too much makes it bad
//
// Truth values and names are integers; times are in nanoseconds. What may be absent has a 1 in front of it, or is a 0
// alone; a list has its length in front. A number of 64 bits without a sign is written as the one with the same bits.
// A span to be filled by whoever answers is a truth value: whether it is wanted.
#pragma once

#include <mete/limit.h>
#include <mete/text.h>
#include <mete/time.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mete::core {

// Value is a Plain, which one may change or not.
template <class Value, class Plain>
concept Is = std::same_as<std::remove_const_t<Value>, Plain>;

template <class Value>
concept IsNumber = std::integral<std::remove_const_t<Value>> || std::is_enum_v<std::remove_const_t<Value>> ||
    Is<Value, Duration> || Is<Value, Instant>;

template <class Value>
concept IsText = Is<Value, std::string> || Is<Value, std::string_view> || Is<Value, Text>;

template <class Value>
inline constexpr bool kIsOptional = false;
template <class Part>
inline constexpr bool kIsOptional<std::optional<Part>> = true;

template <class Value>
inline constexpr bool kIsList = false;
template <class Part>
inline constexpr bool kIsList<std::vector<Part>> = true;

// A list of somebody else's, to be read.
template <class Value>
inline constexpr bool kIsView = false;
template <class Part>
inline constexpr bool kIsView<std::span<const Part>> = true;

// Room of somebody else's, to be filled.
template <class Value>
inline constexpr bool kIsRoom = false;
template <class Part>
inline constexpr bool kIsRoom<std::span<Part>> = !std::is_const_v<Part>;

// A value that is told as another one: of(value), which the value can be made from again.
template <class Value>
struct ToldAs;
template <class Value>
concept IsToldAsAnother = requires {
  typename ToldAs<std::remove_const_t<Value>>::Type;
};

template <IsNumber Value>
std::int64_t to_number(const Value& value) {
  if constexpr (Is<Value, Duration> || Is<Value, Instant>) {
    return static_cast<std::int64_t>(value.ns());
  } else {
    return static_cast<std::int64_t>(value);
  }
}

// The last name of an enumeration: what is beyond it is not of this version. For those that are told.
template <class Name>
struct LastName;

// None if there is no such value.
template <IsNumber Value>
std::optional<Value> from_number(std::int64_t number) {
  if constexpr (Is<Value, Duration>) {
    return Duration::from_ns(number);
  } else if constexpr (Is<Value, Instant>) {
    return Instant::from_ns(static_cast<std::uint64_t>(number));
  } else if constexpr (Is<Value, bool>) {
    return number == 0 || number == 1 ? std::optional(number == 1) : std::nullopt;
  } else if constexpr (std::is_enum_v<Value>) {
    const bool is_known = number >= 0 && number <= static_cast<std::int64_t>(LastName<Value>::value);
    return is_known ? std::optional(static_cast<Value>(number)) : std::nullopt;
  } else if constexpr (sizeof(Value) == sizeof number) {
    return static_cast<Value>(number);
  } else {
    return std::in_range<Value>(number) ? std::optional(static_cast<Value>(number)) : std::nullopt;
  }
}

// A sink has integer(number) and text(bytes).
template <class Sink>
class FieldWriter {
 public:
  explicit FieldWriter(Sink& sink) : sink_(sink) {}

  template <class... Values>
  void operator()(const Values&... values) {
    (write(values), ...);
  }

 private:
  template <class Value>
  void write(const Value& value) {
    if constexpr (IsNumber<Value>) {
      sink_.integer(to_number(value));
    } else if constexpr (IsText<Value>) {
      sink_.text(value);
    } else if constexpr (kIsOptional<Value>) {
      write(value.has_value());
      if (value) write(*value);
    } else if constexpr (kIsList<Value> || kIsView<Value>) {
      write(value.size());
      for (const auto& part : value) write(part);
    } else if constexpr (kIsRoom<Value>) {
      write(!value.empty());
    } else if constexpr (IsToldAsAnother<Value>) {
      write(ToldAs<Value>::of(value));
    } else {
      visit_fields(value, *this);
    }
  }

  Sink& sink_;
};

class FieldCounter {
 public:
  void integer(std::int64_t /*number*/) { ++count_; }
  void text(std::string_view /*bytes*/) { ++count_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 0;
};

template <class... Values>
std::size_t count_fields(const Values&... values) {
  FieldCounter counter;
  FieldWriter<FieldCounter> writer(counter);
  writer(values...);
  return counter.count();
}

// A source has integer() and text(), each none if that is not what comes next, and left(): how many are still there.
// Texts that are views are into the source; lists that are views, and room that is wanted, come from `memory`.
template <class Source>
class FieldReader {
 public:
  explicit FieldReader(Source source, std::pmr::memory_resource* memory = nullptr)
      : source_(std::move(source)), memory_(memory) {}

  template <class... Values>
  void operator()(Values&... values) {
    (read(values), ...);
  }
  // All was as it should be, and nothing is left over.
  [[nodiscard]] bool is_whole() const { return !is_bad_ && source_.left() == 0; }

 private:
  template <class Value>
  void read(Value& value) {
    if constexpr (IsNumber<Value>) {
      const std::optional<std::int64_t> number = source_.integer();
      const std::optional<Value> known = number ? from_number<Value>(*number) : std::nullopt;
      if (known) value = *known;
      is_bad_ = is_bad_ || !known;
    } else if constexpr (IsText<Value>) {
      const std::optional<std::string_view> text = source_.text();
      if (text) value = *text;
      is_bad_ = is_bad_ || !text;
    } else if constexpr (kIsOptional<Value>) {
      bool has_value = false;
      read(has_value);
      if (!has_value || is_bad_) return;
      if constexpr (IsToldAsAnother<typename Value::value_type>) {
        value.emplace(read_told<typename Value::value_type>());
      } else {
        read(value.emplace());
      }
    } else if constexpr (kIsList<Value>) {
      value.resize(read_count());
      for (auto& part : value) read(part);
    } else if constexpr (kIsView<Value>) {
      const std::span parts = room<std::remove_const_t<typename Value::element_type>>(read_count());
      for (auto& part : parts) read(part);
      value = parts;
    } else if constexpr (kIsRoom<Value>) {
      bool is_wanted = false;
      read(is_wanted);
      if (is_wanted) value = room<typename Value::element_type>(kChargesMax);
    } else if constexpr (IsToldAsAnother<Value>) {
      value = read_told<Value>();
    } else {
      visit_fields(value, *this);
    }
  }

  template <class Value>
  Value read_told() {
    typename ToldAs<Value>::Type told;
    read(told);
    return Value(std::move(told));
  }

  std::size_t read_count() {
    std::size_t count = 0;
    read(count);
    is_bad_ = is_bad_ || count > source_.left();  // each part has a field at least
    return is_bad_ ? 0 : count;
  }

  template <class Part>
  std::span<Part> room(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<Part>);
    auto* const parts = static_cast<Part*>(memory_->allocate(count * sizeof(Part), alignof(Part)));
    for (std::size_t i = 0; i < count; ++i) new (parts + i) Part();
    return {parts, count};
  }

  Source source_;
  std::pmr::memory_resource* memory_;
  bool is_bad_ = false;
};

}  // namespace mete::core
