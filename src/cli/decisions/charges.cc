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

Result<std::vector<WrittenCharge>> read_charges(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments;
  std::vector<WrittenCharge> charges;
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
    WrittenCharge& charge = charges[invocation.places.at("cost")[index] / kWordsPerCharge];
    if (!charge.cost.empty()) return base::invalid("option '--cost' is given twice for " + shown(charge.limit));
    charge.cost = costs->second[index];
  }
  return charges;
}

std::int64_t only_cost(const std::vector<WrittenCharge>& charges) {
  if (charges.size() > 1) return 0;
  return charges[0].cost.empty() ? 1 : wire::parse_integer(charges[0].cost).value_or(0);
}

std::vector<std::string> words_of(const std::string& command, const std::vector<WrittenCharge>& charges) {
  std::vector<std::string> words = {command};
  for (const WrittenCharge& charge : charges) {
    if (words.size() > 1) words.emplace_back("AND");
    words.push_back(charge.limit);
    words.push_back(charge.key);
    if (!charge.cost.empty()) words.insert(words.end(), {"COST", charge.cost});
  }
  return words;
}

}  // namespace mete::cli
