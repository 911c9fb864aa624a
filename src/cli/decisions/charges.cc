#include "cli/decisions/charges.h"

#include "base/errors.h"
#include "cli/frame/text.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

constexpr std::size_t kWordsPerCharge = 3;  // LIMIT KEY and

}  // namespace

std::vector<Argument> charge_arguments() {
  return {{.name = "LIMIT", .help = "The name of the limit"},
          {.name = "KEY", .help = "Who is charged: any text"},
          {.name = "and LIMIT KEY",
           .help = "Further charges, with their own --cost behind them: all of them, or none",
           .is_optional = true,
           .is_repeated = true}};
}

Option cost_option() {
  return {.name = "cost",
          .kind = ValueKind::kNumber,
          .value_name = "N",
          .help = "How much: of the charge that it follows",
          .default_text = "1",
          .is_repeatable = true};
}

Result<std::vector<Charge>> read_charges(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments;
  std::vector<Charge> charges;
  for (std::size_t index = 0; index < words.size(); index += kWordsPerCharge) {
    if (index + 1 >= words.size()) return base::invalid("KEY is missing behind " + shown(words[index]));
    charges.push_back({.limit = words[index], .key = words[index + 1]});
    if (index + 2 >= words.size()) break;
    if (!wire::equals_ignoring_case(words[index + 2], "and")) {
      return base::invalid("one argument too many: " + shown(words[index + 2]) +
                           "; a further charge is written: and LIMIT KEY");
    }
    if (index + kWordsPerCharge == words.size()) return base::invalid("LIMIT and KEY are missing behind 'and'");
  }
  const auto costs = invocation.options.find("cost");
  for (std::size_t index = 0; costs != invocation.options.end() && index < costs->second.size(); ++index) {
    const auto& places = invocation.places.at("cost");
    const std::size_t number = places[index] / kWordsPerCharge;
    if (index > 0 && places[index - 1] / kWordsPerCharge == number) {
      return base::invalid("option '--cost' is given twice for " + shown(charges[number].limit));
    }
    charges[number].cost = wire::parse_integer(costs->second[index]).value();  // the parser has seen that it is one
  }
  return charges;
}

Result<std::string> read_id(const Invocation& invocation) {
  const auto id = invocation.given("id");
  if (id == "") return base::invalid("id must not be empty");
  return id.value_or("");
}

}  // namespace mete::cli
