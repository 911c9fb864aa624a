#include "store/postgres/charge_parameters.h"

#include "store/postgres/names.h"

namespace mete::store::postgres {

Parameters& add_text(Parameters& parameters, std::string_view bytes) { return parameters.add(to_text(bytes)); }

Parameters& add_optional_text(Parameters& parameters, std::string_view bytes) {
  return bytes.empty() ? parameters.add_null() : add_text(parameters, bytes);
}

Parameters& add_charge(Parameters& parameters, const Charge& charge) {
  return add_text(add_text(parameters, charge.limit), charge.key).add(charge.cost);
}

Parameters& add_charges(Parameters& parameters, std::span<const Charge> charges) {
  std::vector<std::string> limits;
  std::vector<std::string> keys;
  std::vector<std::int64_t> costs;
  for (const Charge& charge : charges) {
    limits.push_back(to_text(charge.limit));
    keys.push_back(to_text(charge.key));
    costs.push_back(charge.cost);
  }
  parameters.add(std::span<const std::string>(limits)).add(std::span<const std::string>(keys));
  return parameters.add(std::span<const std::int64_t>(costs));
}

}  // namespace mete::store::postgres
