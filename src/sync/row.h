// A row of the query, checked: a key and an amount. Pure.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <string_view>

#include "sync/source.h"

namespace mete::sync {

struct Truth {
  std::string_view key;
  Amount amount = 0;
};

// The message says what is wrong with the row, and how to write the query instead.
Result<Truth> parse_row(Source::Row row);

}  // namespace mete::sync
