// Configuration as text: a file that says the same as a Config, and the settings for people to read.
#pragma once

#include <string>

namespace mete::server {

struct Config;

// For `mete check-config --print`: TOML that load_config reads back to an equal configuration, but for passwords, which
// are shown as *** in comments.
std::string print_config(const Config& config);

// docs/configuration.md, written from the table of settings.
std::string config_markdown();
// The same for a terminal, in short.
std::string config_text();

}  // namespace mete::server
