// ConfigDraft: a Config in the making, which remembers where each of its values came from.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/configuration/config.h"
#include "server/configuration/config_settings.h"

namespace mete::server {

// Where a value came from; a later one goes over an earlier one.
enum class Rank : std::uint8_t { kDefault, kFile, kEnvironment, kFlag };

struct Origin {
  Rank rank = Rank::kDefault;
  std::string place;  // "mete.toml:3:8: server.resp", "METE_SERVER_RESP", "--resp"
};

// What one setting alone cannot tell: values that do not go together.
struct Conflict {
  std::string_view setting;  // the one to change first
  std::string message;
};

// Passwords and secrets in files count as such, whether they have been read or not.
std::optional<Conflict> find_conflict(const Config& config);

class ConfigDraft {
 public:
  Result<void> set(const Setting& setting, std::string_view text, Origin origin);
  void add(FileLimit limit) { config_.limits.push_back(std::move(limit)); }
  void add(FileSync sync) { config_.syncs.push_back(std::move(sync)); }
  // Decides between settings of which there can be only one, and checks that all go together.
  Result<Config> finish() &&;

 private:
  Result<void> choose(std::string_view one, std::string_view other);
  [[nodiscard]] Origin origin_of(std::string_view name) const;

  Config config_;
  std::map<std::string_view, Origin> origins_;
};

// Reads the file's text into the draft.
Result<void> read_file_text(ConfigDraft& draft, std::string_view text, const std::string& file);

// "; did you mean 'server.http'?" or nothing; `name_of` turns a setting into the name that was expected.
std::string suggest_setting(std::string_view name, std::string (*name_of)(const Setting&));

}  // namespace mete::server
