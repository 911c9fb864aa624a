// Text: a std::string_view that is made of one text alone. All texts that the API is given are Texts.
//
// A std::string_view is made of two pointers as well, to the first character and behind the last. So two texts in
// braces would become one that reaches from the first to wherever the second lies, and take({"api", "alice"},
// {"storage", "acme"}) would compile and read memory that is nobody's. A Text refuses that, and a null pointer.
//
// Ownership: none; the text must outlive it. Thread safety: a value.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

namespace mete {

class Text : public std::string_view {
 public:
  constexpr Text() = default;
  // A template, because braces are no type: no second pair of them gets around it.
  template <class From>
  requires(std::convertible_to<const From&, std::string_view> &&
           !std::same_as<From, std::nullptr_t>) constexpr Text(const From& text)  // NOLINT(google-explicit-constructor)
      : std::string_view(text) {}
};

}  // namespace mete
