#include "store/mete/replies.h"

#include <algorithm>

#include "wire/text.h"

namespace mete::store::servers {

namespace {

constexpr ErrorCode kLastCode = ErrorCode::kUnavailable;
constexpr std::string_view kUnknownCommand = "unknown command 'STORE'";

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
  if (code == to_string(ErrorCode::kInvalid) && message.starts_with(kUnknownCommand)) {
    return {ErrorCode::kInvalid, server.to_string() +
                                     " is no Mete server, or one of an earlier version: it knows no "
                                     "STORE commands"};
  }
  for (int number = 0; number <= static_cast<int>(kLastCode); ++number) {
    const auto known = static_cast<ErrorCode>(number);
    if (code == to_string(known)) return {known, std::string(message)};
  }
  const auto* const refusal = std::ranges::find(kRefusals, code, &Refusal::code);
  if (refusal != std::end(kRefusals)) {
    return {ErrorCode::kInvalid,
            server.to_string() + " refused: " + std::string(text) + "; " + std::string(refusal->remedy)};
  }
  return {ErrorCode::kUnavailable, server.to_string() + " answers: " + wire::quote(text)};
}

Error unexpected_reply(std::string_view question, const net::Address& server) {
  return {ErrorCode::kUnavailable, server.to_string() + " answers " + std::string(question) +
                                       " with something else than this version of Mete asks for: run the same version "
                                       "on all servers"};
}

Result<std::vector<std::string>> read_strings(const net::Address& server, std::string_view name,
                                              const Result<wire::RespValue>& reply) {
  if (!reply) return tl::make_unexpected(reply.error());
  if (reply->type != wire::RespType::kArray) return tl::make_unexpected(unexpected_reply(name, server));
  ReplySource source(reply->elements);
  std::vector<std::string> strings;
  while (source.left() > 0) {
    const auto next = source.text();
    if (!next) return tl::make_unexpected(unexpected_reply(name, server));
    strings.emplace_back(*next);
  }
  return strings;
}

Result<Settlement> read_settlement(const net::Address& server, std::string_view name,
                                   const Result<wire::RespValue>& reply) {
  return read_integers<3>(server, name, reply).map([](const auto& parts) {
    return Settlement{.amount = parts[0], .remaining = parts[1], .limit = parts[2]};
  });
}

void tell_usages(const VerdictMessage& answer, std::span<Usage> usages) {
  for (std::size_t i = 0; i < std::min(usages.size(), answer.usages.size()); ++i) {
    if (answer.usages[i].limit != 0) usages[i] = answer.usages[i];
  }
}

}  // namespace mete::store::servers
