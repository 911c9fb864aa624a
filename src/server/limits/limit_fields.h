// A limit from named values, as JSON and TOML have them, or from words; and back. core/limit_fields.h has the fields.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <span>
#include <string>

#include "core/limit_fields.h"
#include "store/store.h"
#include "wire/named_value.h"

namespace mete::server {

// Checks everything but the time zone, which the store knows. `period` is a duration ("1m"; a bare integer is seconds),
// and of a calendar hour, day, week, month or year. A message begins with the name of the field that it is about.
Result<Limit> make_limit(std::string name, std::span<const wire::NamedValue> values);

// The value of a field as LIMIT SET and the command line write it: names are read in any case, a zone is written as it
// is, and so is the unit of a duration. A flag is true. What is no number where one must be stays a text, which
// make_limit refuses.
wire::Scalar value_of_word(const core::LimitField& field, std::string_view word);

// The values that make_limit makes the same limit of, after the name. A field that was not given is not there.
wire::NamedValues describe_limit(const Limit& limit);
// A limit as whoever asks for it is told: its name, its values, and of one that nodes draw from what is outstanding.
// That is left out where it cannot be known now: the definition is known all the same.
wire::NamedValues tell_limit(store::Store& store, const Limit& limit);

}  // namespace mete::server
