// Manual pages in the language of man(7).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/frame/command.h"

namespace mete::cli {

struct ManPage {
  std::string file;  // "mete-take.1"
  std::string text;
};

// mete.1, one page per command, and mete.toml.5.
std::vector<ManPage> manual(std::span<const Command> all);

}  // namespace mete::cli
