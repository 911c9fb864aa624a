// Files that tests read.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace mete::support {

// Empty if it is not there.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Where the sources of Mete are: tests read documents and golden files from there.
std::filesystem::path repository();

}  // namespace mete::support
