// Any text as mete.toml: it is read or refused, and a refusal is one line that begins with the place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "server/configuration/config.h"
#include "wire/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = mete::server::parse_config(text, {.file = "mete.toml", .environment = {}, .flags = {}});
  if (config) {
    CHECK(!mete::server::list_values(*config).empty());
    CHECK(mete::server::changes_for_restart(*config, *config).empty());
  } else {
    const std::string_view message = config.error().message;
    CHECK(message.starts_with("mete.toml:"));
    CHECK(message.find('\n') == std::string_view::npos);
    CHECK(mete::wire::is_utf8(message));
  }
  return 0;
}
