// mete: the program.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.h"

namespace {

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

// What is said on the command line is seen by everybody on the machine: passwords are blotted out, once they are read.
// So are the users of URLs, which have passwords behind them.
void hide_secrets(std::span<char*> words) {
  const auto blot = [](char* from, const char* end) { std::fill(from, from + (end - from), '*'); };
  bool is_value = false;  // of an option in a word of its own
  for (char* const word : words) {
    const std::string_view text = word;
    char* const end = word + text.size();
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const bool is_secret = name.starts_with("--") && (name.ends_with("password") || name.ends_with("secret"));
    if (is_value) blot(word, end);
    if (is_secret && equals != std::string_view::npos) blot(word + equals + 1, end);
    is_value = !is_value && is_secret && equals == std::string_view::npos;
    const std::size_t scheme = text.find("://");
    const std::size_t at = text.rfind('@');
    if (scheme != std::string_view::npos && at != std::string_view::npos && at > scheme) {
      blot(word + scheme + 3, word + at);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  hide_secrets({argv, argv + argc});
  mete::cli::Console console{std::cin, std::cout, std::cerr, read_environment()};
  const int status = mete::cli::run(mete::cli::commands(), words, console);
  // What could not be written was not done.
  if (!std::cout.flush() && status != mete::cli::kExitError) {
    return mete::cli::fail(console, "cannot write to standard output");
  }
  return status;
}
