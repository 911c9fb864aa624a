// What browsers are made to send by pages of others, and how it is told from what programs and our own pages send.
//
// A page can make a browser send requests to this server, and, where its name comes to stand for this server's address
// (DNS rebinding), read the answers too. Where no password is needed, that would be enough to administer it. So:
//
//   - a request must name the server by an address, by localhost, by a name without dots, which no stranger can have,
//     or by a name that the configuration knows;
//   - what changes something must not come from another origin: Origin and Sec-Fetch-Site tell.
//
// Who shows a password is believed: browsers add none by themselves. Pure.
#pragma once

#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wire/http_request.h"

namespace mete::server {

// Whether a Host header names this server; `names` are those of the configuration, "*" any.
bool names_this_server(std::string_view header, std::span<const std::string> names);

// Why a request that would change something must have been sent by another's page; none: it was not.
std::optional<std::string> foreign_page(const wire::HttpRequest& request);

// Whether a proxy asks for a request of its own client, whose headers it has passed on. No page can make a browser send
// such a request without asking first, by a request with the method OPTIONS.
bool is_from_proxy(const wire::HttpRequest& request);

// What server.http_hosts can have.
bool is_host_name(std::string_view name);

}  // namespace mete::server
