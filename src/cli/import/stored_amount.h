// What a counter in Redis says, taken as it is or not at all: nothing is rounded, clamped or guessed.
#pragma once

#include <mete/limit.h>

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "wire/resp_reply.h"

namespace mete::cli {

// The amount; none if there is no such key; or else why what is there is no amount, to be read behind its name.
using StoredAmount = tl::expected<std::optional<Amount>, std::string>;

// `reply` is that to GET. `least`: 0 for what is used, 1 for what there is in all.
StoredAmount read_amount(const wire::RespValue& reply, Amount least);

}  // namespace mete::cli
