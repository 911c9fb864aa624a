// What a Mete server says that is no answer, as the Error that its store would have told. Pure.
#pragma once

#include <mete/result.h>

#include <string_view>

#include "net/address.h"

namespace mete::store::servers {

// `text`: the error as it stands in the reply, "NOLIMIT unknown limit 'x'". What is about the way there (a password, a
// server that is no Mete) says the address and what to do.
Error error_of(std::string_view text, const net::Address& server);

// A reply of another shape than the question has.
Error unexpected_reply(std::string_view question, const net::Address& server);

}  // namespace mete::store::servers
