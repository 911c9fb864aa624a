// mete: the program.

#include <unistd.h>

#include <iostream>
#include <string_view>

#include "cli/demo.h"

namespace {

constexpr std::string_view kHelp =
    "Mete: rate limits, quotas and reservations, exact and atomic.\n"
    "\n"
    "usage: mete demo      try the engine at a prompt\n"
    "       mete version   print the version\n"
    "       mete help      print this\n";

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "help";
  if (argc > 2) {
    std::cerr << "mete: " << command << " takes no arguments\n";
    return 2;
  }
  if (command == "demo") return mete::cli::run_demo(std::cin, std::cout, ::isatty(STDIN_FILENO) == 1);
  if (command == "version" || command == "--version") {
    std::cout << "mete " METE_VERSION "\n";
    return 0;
  }
  if (command == "help" || command == "--help" || command == "-h") {
    std::cout << kHelp;
    return 0;
  }
  std::cerr << "mete: unknown command '" << command << "'\n\n" << kHelp;
  return 2;
}
