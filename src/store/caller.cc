#include "store/caller.h"

#include "base/errors.h"
#include "base/try.h"

namespace mete::store::reserved {

Error not_for_clients(std::string_view field, std::string_view text) {
  return base::invalid(std::string(field) + " must not start with '" + std::string(text) +
                       "': such names are for what nodes keep for themselves");
}

std::optional<Error> refusal(const core::MeterName& meter) {
  if (core::is_reserved_limit(meter.limit)) return core::unknown_limit(meter.limit);
  if (core::is_reserved_key(meter.key)) return core::reserved_key(meter.key);
  return std::nullopt;
}

std::optional<Error> refusal(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    if (auto error = refusal(core::MeterName{charge.limit, charge.key})) return error;
  }
  return std::nullopt;
}

Result<void> take_others(Store& store, const core::TakeEach& takes, Execution& execution) {
  std::vector<Charge> charges;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    if (auto error = refusal(Take{.charges = takes.charges.subspan(i, 1)})) {
      takes.answers[i] = std::move(*error);
    } else {
      charges.push_back(takes.charges[i]);
      places.push_back(i);
    }
  }
  std::vector<Result<core::Verdict>> answers(charges.size());
  TRY(store.run(core::TakeEach{charges, answers}, execution));
  for (std::size_t i = 0; i < places.size(); ++i) takes.answers[places[i]] = std::move(answers[i]);
  return {};
}

}  // namespace mete::store::reserved
