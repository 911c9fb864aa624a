// Parameters: the values of a statement's $1, $2, … as text, in that order. Thread safety: none.
#pragma once

#include <mete/decision.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operations.h"

namespace mete::store::postgres {

// Names, keys, ids and tags as PostgreSQL's texts, which are UTF-8 without NUL: most are that as they are. Any other
// bytes, and a text that begins with \x, become \x and their hexadecimal digits, as PostgreSQL writes bytes.
std::string to_text(std::string_view bytes);
std::string from_text(std::string_view text);

class Parameters {
 public:
  // PostgreSQL's texts hold no NUL and are UTF-8: a statement with another one is an error (22021).
  Parameters& add(std::string_view text);
  Parameters& add(std::int64_t number);
  // Of bools alone, for a literal text would be one of them too.
  Parameters& add(std::same_as<bool> auto flag) { return add(std::string_view(flag ? "t" : "f")); }
  Parameters& add_null();
  // Null where it is none.
  Parameters& add(const std::optional<std::int64_t>& number);
  // As text[] and bigint[].
  Parameters& add(std::span<const std::string> texts);
  Parameters& add(std::span<const std::int64_t> numbers);

  // What the statement is about, for errors: the first charge, meter, limit or hold among them.
  Parameters& about(std::string_view kind, std::string_view name);
  Parameters& about(const Charge& charge) { return about("limit", charge.limit).about("key", charge.key); }
  [[nodiscard]] const std::string& subject() const { return subject_; }

  [[nodiscard]] std::span<const std::optional<std::string>> values() const { return values_; }

 private:
  std::vector<std::optional<std::string>> values_;
  std::string subject_ = {};
};

// Names, keys and charges as parameters of the store's functions: any bytes become text.
Parameters& add_text(Parameters& parameters, std::string_view bytes);
// Null where it is empty.
Parameters& add_optional_text(Parameters& parameters, std::string_view bytes);
// Limit and key of a meter; a limit; the id of a hold: the statement is about that.
Parameters& add_meter(Parameters& parameters, const core::MeterName& meter);
Parameters& add_limit(Parameters& parameters, std::string_view limit);
Parameters& add_hold(Parameters& parameters, std::string_view id);
// Limit, key and cost.
Parameters& add_charge(Parameters& parameters, const Charge& charge);
// The limits of all of them, their keys and their costs.
Parameters& add_charges(Parameters& parameters, std::span<const Charge> charges);

}  // namespace mete::store::postgres
