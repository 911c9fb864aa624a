// mete: the program.

#include <unistd.h>

#include <iostream>
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

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  mete::cli::Console console{std::cin, std::cout, std::cerr, read_environment()};
  const int status = mete::cli::run(mete::cli::commands(), words, console);
  // What could not be written was not done.
  if (!std::cout.flush() && status != mete::cli::kExitError) {
    return mete::cli::fail(console, "cannot write to standard output");
  }
  return status;
}
