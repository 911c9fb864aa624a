// Replies of a Mete server, read strictly: an error is the Error that its store would have told, and a reply of another
// shape than the question has is one that names the server. Pure.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/try.h"
#include "core/operation_fields.h"
#include "net/address.h"
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

// How each charge's meter stands, to whoever has room for it. An answer from before does not tell.
void tell_usages(std::span<const Usage> told, std::span<Usage> usages);

// The answer to an operation. `check` gets whether the reply has just its fields, and the server's time, and says what
// is wrong then.
template <class What, class Check>
Result<typename What::Answer> read_answer(const What& operation, const wire::RespValue& reply, Check check) {
  core::FieldReader<ReplySource> reader{ReplySource(reply.elements)};
  Instant now;
  reader(now);
  if constexpr (std::is_void_v<typename What::Answer>) {
    return check(reader.is_whole(), now);
  } else {
    typename What::Answer answer{};
    reader(answer);
    if constexpr (requires { operation.usages; }) {
      std::vector<Usage> usages;
      reader(usages);
      tell_usages(usages, operation.usages);
    }
    TRY(check(reader.is_whole(), now));
    return answer;
  }
}

}  // namespace mete::store::servers
