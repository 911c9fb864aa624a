// load_zone: the only I/O of this module.
#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/errors.h"
#include "calendar/zone.h"

namespace mete::civil {
namespace {

namespace fs = std::filesystem;

Error refuse(const std::string& reason) { return base::invalid("zone: " + reason); }

bool is_capital(char c) { return 'A' <= c && c <= 'Z'; }

bool is_name_char(char c) {
  return is_capital(c) || ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_' || c == '+' || c == '-' ||
         c == '/';
}

// Every zone's name starts with a capital. What does not is no zone of IANA's: "posixrules" and "localtime" are another
// zone on another machine, and "right/" counts leap seconds. Without dots and empty parts a name stays in the folder.
bool is_zone_name(std::string_view name) {
  return !name.empty() && name.size() <= kZoneNameBytesMax && is_capital(name.front()) && name.back() != '/' &&
         name.find("//") == std::string_view::npos && std::all_of(name.begin(), name.end(), is_name_char);
}

// For messages: short, and without the bytes that a terminal would obey.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, kZoneNameBytesMax));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name.size() > kZoneNameBytesMax ? text + "..." : text;
}

Error unknown(std::string_view name) {
  return refuse("unknown time zone '" + printable(name) + "': use an IANA name such as 'Europe/Berlin'");
}

// The file's bytes, up to one more than a zone may have; nothing where there is no such file.
std::optional<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes(kZoneFileBytesMax + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const Zone>> load_zone(std::string_view name, const fs::path& folder) {
  if (name == "UTC") return std::make_shared<const Zone>(Zone::utc());
  if (!is_zone_name(name)) return unknown(name);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return refuse("'" + printable(name) + "' needs time zone data, and there is no " + folder.string() +
                  ": install the package tzdata, or use 'UTC'");
  }
  const std::optional<std::string> bytes = read_file(folder / name);
  if (!bytes || !bytes->starts_with("TZif")) return unknown(name);
  const std::string what = "the data of time zone '" + std::string(name) + "' cannot be used, for ";
  if (bytes->size() > kZoneFileBytesMax) return refuse(what + "the file is too large: reinstall the package tzdata");
  auto zone = Zone::parse(*bytes);
  if (!zone) return refuse(what + zone.error().message + ": reinstall the package tzdata");
  return std::make_shared<const Zone>(*std::move(zone));
}

}  // namespace mete::civil
