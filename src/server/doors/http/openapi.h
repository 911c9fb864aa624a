// The description of the HTTP API in OpenAPI 3.1, made of the table of routes and their schemas.
#pragma once

#include <string>

namespace mete::server {

// Made once, when it is first asked for.
const std::string& openapi_document();

}  // namespace mete::server
