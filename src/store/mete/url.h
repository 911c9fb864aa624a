// Where other Mete servers are and how they are reached, as a URL says it. Pure.
//
//     mete://host:6380                                     one server
//     mete://:password@first:6380,second:6380?timeout=1s   several, each with a share of the keys
//     metes://host:6380?ca=/etc/ssl/our-ca.pem             over TLS
//
// Which server a key is at follows from the hosts as they are written: everyone who shares them writes them alike.
// Their order does not matter.
#pragma once

#include <mete/result.h>

#include <string_view>

#include "store/network/server_url.h"

namespace mete::store::servers {

inline constexpr std::uint16_t kDefaultPort = 6380;

// mete:// or metes://, right or wrong behind that.
bool is_mete_url(std::string_view text);
// The error says what is wrong and how it is written, and shows no password.
Result<ServerUrl> parse_url(std::string_view text);

}  // namespace mete::store::servers
