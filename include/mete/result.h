// Result: what every call that can fail returns, a value or an Error that says what happened and what to do.
//
// A denial is not an error: it is a Decision. Errors are bad input, unknown names and stores that do not answer,
// and an error has changed nothing.
//
//     auto decision = limiter.take("api", "alice");
//     if (!decision.has_value()) std::cerr << decision.error().message << '\n';
//
// `value()`, `*` and `->` of an error throw Failure, whose what() is the message. A Result whose value is itself a yes
// or a no, such as a Decision, is no bool: `if (limiter.take(…))` would ask for the error and not for the decision. Nor
// is one of many such answers. And `->` does not reach into a temporary that a loop would outlive:
// `for (auto& charge : limiter.find_hold(id)->value().charges)`.
// Ownership and thread safety: a value.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mete {

enum class ErrorCode : std::uint8_t {
  kInvalid,      // an argument is out of its range; the message names it
  kNoLimit,      // no limit of that name is defined
  kNoHold,       // no open hold of that id
  kExpired,      // the hold's time ran out before this call
  kExceeds,      // a commit of more than is held
  kMismatch,     // the id was used before, with other parameters
  kWrongType,    // the key is of another type than the operation is for
  kOutOfMemory,  // a memory ceiling is reached; what exists goes on working
  kUnavailable,  // the store does not answer; nothing is known to have happened
};

// The code as it stands on the wire in front of the message: "NOLIMIT", "EXPIRED", …; "ERR" for kInvalid.
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;

  bool operator==(const Error&) const = default;
};

// Thrown where the value of an error is asked for. what() is the code and the message, as they stand on the wire.
class Failure : public std::runtime_error {
 public:
  explicit Failure(Error error);

  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

template <class T, class E = Error>
class Result;

namespace detail {

// Out of line, so that callers carry no code for exceptions.
[[noreturn]] void fail(const Error& error);
[[noreturn]] void fail_without_value();
[[noreturn]] void fail_without_error();

template <class E>
[[noreturn]] void fail(const E& /*error*/) {
  fail_without_value();
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsResult = false;
template <class T, class E>
inline constexpr bool kIsResult<Result<T, E>> = true;

// The value answers yes or no itself, or it is many such answers.
template <class T>
concept IsAnswer = std::same_as<T, bool> || kIsOptional<T> || requires(const T& value) {
  value.is_allowed;
} || requires {
  requires kIsResult<typename T::value_type>;
};

// Something within the value can be looped over.
template <class T>
concept HasParts = requires(const T& value) {
  value.charges.begin();
}
|| requires(const T& value) { value->charges.begin(); }
|| requires(const T& value) { value.violated.begin(); };

// A bool is made of a bool alone: a pointer would do as well, and mean something else.
template <class From, class T, class E>
concept BecomesValue =
    !kIsResult<std::remove_cvref_t<From>> && !std::same_as<std::remove_cvref_t<From>, E> &&
    std::convertible_to<From, T> && (!std::same_as<T, bool> || std::same_as<std::remove_cvref_t<From>, bool>);

}  // namespace detail

// A value and an error become a Result by themselves: that is what a return says.
// NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload)
template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result() requires std::default_initializable<T> : value_(), has_value_(true) {}
  template <class From = T>
  requires detail::BecomesValue<From, T, E> Result(From&& value)
      : value_(std::forward<From>(value)), has_value_(true) {}
  Result(E error) : error_(std::move(error)), has_value_(false) {}
  template <class From>
  requires(!std::same_as<From, T> && std::convertible_to<From, T>) Result(Result<From, E>&& other)
      : has_value_(other.has_value()) {
    if (has_value_) {
      std::construct_at(&value_, *std::move(other));
    } else {
      std::construct_at(&error_, std::move(other).error());
    }
  }

  Result(const Result& other) requires std::copy_constructible<T> : has_value_(other.has_value_) {
    if (has_value_) {
      std::construct_at(&value_, other.value_);
    } else {
      std::construct_at(&error_, other.error_);
    }
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) {
    if (has_value_) {
      std::construct_at(&value_, std::move(other.value_));
    } else {
      std::construct_at(&error_, std::move(other.error_));
    }
  }
  Result& operator=(const Result& other) requires std::copy_constructible<T> {
    if (this != &other) *this = Result(other);
    return *this;
  }
  Result& operator=(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  template <class From = T>
  requires(detail::BecomesValue<From, T, E>&& std::assignable_from<T&, From>) Result& operator=(From&& value) {
    if (has_value_) {
      value_ = std::forward<From>(value);
    } else {
      *this = Result(std::forward<From>(value));
    }
    return *this;
  }
  ~Result() {
    if (has_value_) {
      std::destroy_at(&value_);
    } else {
      std::destroy_at(&error_);
    }
  }

  [[nodiscard]] bool has_value() const { return has_value_; }
  explicit operator bool() const requires(!detail::IsAnswer<T>) { return has_value_; }

  // Of a temporary by value, so that a loop over it does not outlive it.
  T& value() & { return checked(), value_; }
  const T& value() const& { return checked(), value_; }
  T value() && { return checked(), std::move(value_); }
  T& operator*() & { return checked(), value_; }
  const T& operator*() const& { return checked(), value_; }
  T operator*() && { return checked(), std::move(value_); }
  T* operator->() & { return checked(), std::addressof(value_); }
  const T* operator->() const& { return checked(), std::addressof(value_); }
  T* operator->() && requires(!detail::HasParts<T>) { return checked(), std::addressof(value_); }
  void operator->() && requires(detail::HasParts<T>) = delete;
  void operator->() const&& requires(detail::HasParts<T>) = delete;
  template <class Other>
  [[nodiscard]] T value_or(Other&& other) const& {
    return has_value_ ? value_ : static_cast<T>(std::forward<Other>(other));
  }
  template <class Other>
  [[nodiscard]] T value_or(Other&& other) && {
    return has_value_ ? std::move(value_) : static_cast<T>(std::forward<Other>(other));
  }

  [[nodiscard]] E& error() & {
    if (has_value_) [[unlikely]]
      detail::fail_without_error();
    return error_;
  }
  [[nodiscard]] const E& error() const& {
    if (has_value_) [[unlikely]]
      detail::fail_without_error();
    return error_;
  }
  [[nodiscard]] E error() && {
    if (has_value_) [[unlikely]]
      detail::fail_without_error();
    return std::move(error_);
  }

  // The function's result in place of the value.
  template <class Function>
  auto map(Function&& function) const& -> Result<std::invoke_result_t<Function, const T&>, E> {
    if (!has_value_) return error_;
    if constexpr (std::is_void_v<std::invoke_result_t<Function, const T&>>) {
      std::forward<Function>(function)(value_);
      return {};
    } else {
      return std::forward<Function>(function)(value_);
    }
  }
  template <class Function>
  auto map(Function&& function) && -> Result<std::invoke_result_t<Function, T&&>, E> {
    if (!has_value_) return std::move(error_);
    if constexpr (std::is_void_v<std::invoke_result_t<Function, T&&>>) {
      std::forward<Function>(function)(std::move(value_));
      return {};
    } else {
      return std::forward<Function>(function)(std::move(value_));
    }
  }
  // The function's Result in place of the value.
  template <class Function>
  auto and_then(Function&& function) && -> std::invoke_result_t<Function, T&&> {
    if (!has_value_) return std::move(error_);
    return std::forward<Function>(function)(std::move(value_));
  }
  // The function's error in place of the error.
  template <class Function>
  auto map_error(Function&& function) && -> Result<T, std::invoke_result_t<Function, E&&>> {
    if (!has_value_) return std::forward<Function>(function)(std::move(error_));
    return std::move(value_);
  }

  friend bool operator==(const Result& left, const Result& right) requires std::equality_comparable<T> {
    if (left.has_value_ != right.has_value_) return false;
    return left.has_value_ ? left.value_ == right.value_ : left.error_ == right.error_;
  }

 private:
  void checked() const {
    if (!has_value_) [[unlikely]]
      detail::fail(error_);
  }

  union {
    T value_;  // NOLINT(readability-identifier-naming): a private member
    E error_;  // NOLINT(readability-identifier-naming): a private member
  };
  bool has_value_;
};

// What a call returns that has nothing to tell but that it was done. Its value() throws like any other's.
template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(E error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_.has_value()) [[unlikely]]
      detail::fail(*error_);
  }
  void operator*() const { value(); }
  [[nodiscard]] const E& error() const& {
    if (!error_.has_value()) [[unlikely]]
      detail::fail_without_error();
    return *error_;
  }
  [[nodiscard]] E error() && {
    if (!error_.has_value()) [[unlikely]]
      detail::fail_without_error();
    return *std::move(error_);
  }

  template <class Function>
  auto map(Function&& function) && -> Result<std::invoke_result_t<Function>, E> {
    if (error_.has_value()) return *std::move(error_);
    return std::forward<Function>(function)();
  }
  template <class Function>
  auto and_then(Function&& function) && -> std::invoke_result_t<Function> {
    if (error_.has_value()) return *std::move(error_);
    return std::forward<Function>(function)();
  }
  template <class Function>
  auto map_error(Function&& function) && -> Result<void, std::invoke_result_t<Function, E&&>> {
    if (error_.has_value()) return std::forward<Function>(function)(*std::move(error_));
    return {};
  }

  bool operator==(const Result&) const = default;

 private:
  std::optional<E> error_;
};

// NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)

}  // namespace mete
