// Argument: what a command takes, declared once, be it a command of the server or a subcommand of the program. It is
// read, listed and documented by its declaration.
//
// A command has positional arguments, and options behind or among them. An option has a word, and most have a value
// behind it: `WAIT duration` in RESP, `--wait DURATION` in a shell. Pure; thread safety: values.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mete::wire {

enum class ArgumentType : std::uint8_t {
  kText,      // any word
  kKey,       // a word that names who is charged, or a key
  kInteger,   // 64 bits, signed
  kDuration,  // "250ms", "1s", …; a bare integer is seconds
  kDecimal,   // seconds, perhaps with a fraction: "0.5"
  kFlag,      // an option that stands alone; a shell may say --option=false, too
  kCharges,   // limit key [COST n] [AND limit key [COST n]]…
  kName,      // one of its names
  kFile,
  kFolder,
};

struct Argument {
  std::string_view word = {};  // an option's, in a shell without its dashes; none: the argument is positional
  ArgumentType type = ArgumentType::kText;
  std::string_view name = {};          // what help calls its value
  std::string_view help = {};          // a sentence without its full stop
  std::string_view default_text = {};  // the value where none is given
  std::string_view environment = {};   // the variable that is read before that
  std::string_view names = {};         // of a kName: "hard|soft"
  bool is_optional = false;            // of a positional one
  bool is_multiple = false;            // all the words that follow; an option: it may stand several times
  bool is_required = false;            // of an option, or of one of a choice: the handler looks whether it is there
  std::uint8_t choice = 0;             // options with the same number exclude each other; 0: with none

  [[nodiscard]] constexpr bool is_option() const { return !word.empty(); }
  [[nodiscard]] constexpr bool may_be_absent() const { return is_option() ? !is_required : is_optional; }
};

constexpr Argument flag(std::string_view word, std::string_view help) {
  return {.word = word, .type = ArgumentType::kFlag, .help = help};
}

// The number that a word stands for: an integer, a duration in nanoseconds, 1 or 0 of a flag; 0 where the text itself
// is the value. The error says how it must be, without the word: "must be an integer"; of a duration, what is wrong.
Result<std::int64_t> read_argument(const Argument& argument, std::string_view word);

// "0.5" as a duration of seconds, exact to the nanosecond; none if it is not one.
std::optional<Duration> parse_decimal_seconds(std::string_view text);

// The first word of a command's name: of a subcommand ("LIMIT SET") its container.
constexpr std::string_view container_of(std::string_view name) { return name.substr(0, name.find(' ')); }
constexpr bool is_subcommand(std::string_view name) { return container_of(name) != name; }

}  // namespace mete::wire
