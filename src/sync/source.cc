#include "sync/source.h"

#include <algorithm>
#include <string>

#include "base/errors.h"
#include "base/try.h"
#include "core/validate.h"
#include "wire/text.h"

namespace mete::sync {

namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// As PostgreSQL writes numbers. What is whole and yet has a point is refused too: it is the same query that will have a
// fraction another day.
Result<Amount> parse_amount(std::string_view key, std::string_view text) {
  const std::string amount = "the amount of key " + wire::quote(key) + ", " + wire::quote(text) + ", ";
  const auto number = wire::parse_integer(text);
  if (number && *number < 0) return base::invalid(amount + "is negative: write greatest(AMOUNT, 0) if it may be");
  if (number && *number <= kAmountMax) return *number;
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_digit)) {
    return base::invalid(amount + "is more than " + std::to_string(kAmountMax));
  }
  return base::invalid(amount +
                       "is not a whole number: write AMOUNT::bigint, or ceil(AMOUNT)::bigint if it has a fraction");
}

}  // namespace

Result<Truth> parse_row(Source::Row row) {
  if (row.size() != 2) {
    return base::invalid("it has " + std::to_string(row.size()) + (row.size() == 1 ? " column" : " columns") +
                         ", and needs two: select KEY, AMOUNT");
  }
  if (!row[0]) return base::invalid("its key is null: add where KEY is not null");
  if (auto ok = core::validate_key(*row[0]); !ok) return base::invalid(ok.error().message);
  if (!row[1])
    return base::invalid("the amount of key " + wire::quote(*row[0]) + " is null: write coalesce(AMOUNT, 0)");
  const auto amount = TRY(parse_amount(*row[0], *row[1]));
  return Truth{*row[0], amount};
}

}  // namespace mete::sync
