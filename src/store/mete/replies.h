// Replies of a Mete server, read strictly: an error is the Error that its store would have told, and a reply of another
// shape than the question has is one that names the server. Pure.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "store/mete/messages.h"
#include "wire/resp_reply.h"

namespace mete::store::servers {

// `text`: the error as it stands in the reply, "NOLIMIT unknown limit 'x'". What is about the way there (a password, a
// server that is no Mete) says the address and what to do.
Error error_of(std::string_view text, const net::Address& server);

// A reply of another shape than the question has.
Error unexpected_reply(std::string_view question, const net::Address& server);

// Elements of a reply, for a FieldReader.
class ReplySource {
 public:
  explicit ReplySource(std::span<const wire::RespValue> elements) : elements_(elements) {}

  std::optional<std::int64_t> integer() {
    const wire::RespValue* const next = take(wire::RespType::kInteger);
    return next != nullptr ? std::optional(next->integer) : std::nullopt;
  }
  std::optional<std::string_view> text() {
    const wire::RespValue* const next = take(wire::RespType::kBulk);
    return next != nullptr ? std::optional<std::string_view>(next->text) : std::nullopt;
  }
  [[nodiscard]] std::size_t left() const { return elements_.size(); }

 private:
  const wire::RespValue* take(wire::RespType type) {
    if (elements_.empty() || elements_.front().type != type) return nullptr;
    const wire::RespValue* const next = elements_.data();
    elements_ = elements_.subspan(1);
    return next;
  }

  std::span<const wire::RespValue> elements_;
};

// Integers of a reply that is an array of so many of them.
template <std::size_t Count>
Result<std::array<std::int64_t, Count>> read_integers(const net::Address& server, std::string_view name,
                                                      const Result<wire::RespValue>& reply) {
  if (!reply) return tl::make_unexpected(reply.error());
  ReplySource source(reply->elements);
  std::array<std::int64_t, Count> integers{};
  for (std::int64_t& integer : integers) {
    const auto next = source.integer();
    if (!next) return tl::make_unexpected(unexpected_reply(name, server));
    integer = *next;
  }
  if (source.left() > 0) return tl::make_unexpected(unexpected_reply(name, server));
  return integers;
}
Result<std::vector<std::string>> read_strings(const net::Address& server, std::string_view name,
                                              const Result<wire::RespValue>& reply);

Result<Settlement> read_settlement(const net::Address& server, std::string_view name,
                                   const Result<wire::RespValue>& reply);

// How each charge's meter stands, to whoever has room for it. An answer from before does not tell.
void tell_usages(const VerdictMessage& answer, std::span<Usage> usages);

}  // namespace mete::store::servers
