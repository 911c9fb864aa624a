#include "store/mete/replies.h"

#include <algorithm>

#include "base/errors.h"
#include "wire/text.h"

namespace mete::store::servers {

namespace {

constexpr ErrorCode kLastCode = ErrorCode::kUnavailable;
// What a server says that has no STORE commands, or has others.
constexpr std::string_view kUnknownCommand = "unknown command 'STORE'";
constexpr std::string_view kUnknownSubcommand = "Try STORE HELP.";

// Of those that are about the way there.
struct Refusal {
  std::string_view code;
  std::string_view remedy;
};
constexpr Refusal kRefusals[] = {
    {"NOAUTH", "put its password into the URL: mete://:password@host:port"},
    {"WRONGPASS", "check the password in the URL"},
    {"NOPERM", "put its admin's password into the URL"},
};

}  // namespace

Error error_of(std::string_view text, const net::Address& server) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view code = text.substr(0, space);
  const std::string_view message = text.substr(std::min(space + 1, text.size()));
  if (code == to_string(ErrorCode::kInvalid) &&
      (message.starts_with(kUnknownCommand) || message.ends_with(kUnknownSubcommand))) {
    return base::invalid(server.to_string() +
                         " is no Mete server, or one of an earlier version: it knows no "
                         "STORE commands");
  }
  for (int number = 0; number <= static_cast<int>(kLastCode); ++number) {
    const auto known = static_cast<ErrorCode>(number);
    if (code == to_string(known)) return {known, std::string(message)};
  }
  const auto* const refusal = std::ranges::find(kRefusals, code, &Refusal::code);
  if (refusal != std::end(kRefusals)) {
    return base::invalid(server.to_string() + " refused: " + std::string(text) + "; " + std::string(refusal->remedy));
  }
  return base::unavailable(server.to_string() + " answers: " + wire::quote(text));
}

Error unexpected_reply(std::string_view question, const net::Address& server) {
  return base::unavailable(server.to_string() + " answers " + std::string(question) +
                           " with something else than this version of Mete asks for: run the same version "
                           "on all servers");
}

void tell_usages(std::span<const Usage> told, std::span<Usage> usages) {
  for (std::size_t i = 0; i < std::min(usages.size(), told.size()); ++i) {
    if (told[i].limit != 0) usages[i] = told[i];
  }
}

}  // namespace mete::store::servers
