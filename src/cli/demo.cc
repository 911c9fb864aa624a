#include "cli/demo.h"

#include <mete/mete.h>
#include <unistd.h>

#include <charconv>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace mete::cli {

namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

std::optional<Amount> parse_number(const std::string& text) {
  Amount number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// Tenths of a second are enough to look at.
std::string seconds_text(Duration duration) {
  if (duration.is_never()) return "never";
  std::ostringstream text;
  text << duration.ms() / 1000 << '.' << duration.ms() % 1000 / 100 << " s";
  return text.str();
}

class Demo {
 public:
  Demo(Limiter limiter, std::ostream& out) : limiter_(std::move(limiter)), out_(out) {}

  // False once the user wants to leave.
  bool obey(const std::string& line) {
    std::istringstream stream(line);
    const Words words{std::istream_iterator<std::string>(stream), {}};
    if (words.empty()) return true;
    if (words[0] == "quit" || words[0] == "exit") return false;
    for (const Command& command : commands()) {
      if (words[0] != command.name) continue;
      const std::size_t arguments = words.size() - 1;
      if (arguments < command.arguments_min || arguments > command.arguments_max) {
        out_ << "usage: " << command.name << ' ' << command.usage << '\n';
      } else {
        (this->*command.run)(words);
      }
      return true;
    }
    out_ << "unknown command '" << words[0] << "': try help\n";
    return true;
  }

 private:
  struct Command {
    const char* name;
    const char* usage;
    const char* summary;
    std::size_t arguments_min;
    std::size_t arguments_max;
    void (Demo::*run)(const Words&);
  };
  static const std::vector<Command>& commands();

  template <class AnyResult>
  bool report_error(const AnyResult& result) {
    if (result) return false;
    out_ << to_string(result.error().code) << ' ' << result.error().message << '\n';
    return true;
  }

  // The number at `index`, or the default where there is none; an error is told.
  std::optional<Amount> number_at(const Words& words, std::size_t index, Amount otherwise) {
    if (words.size() <= index) return otherwise;
    const auto number = parse_number(words[index]);
    if (!number) out_ << "'" << words[index] << "' is not a whole number\n";
    return number;
  }

  void print(const Decision& decision) {
    out_ << (decision.allowed() ? "allowed" : "denied") << ": " << decision.remaining << " of " << decision.limit
         << " left";
    if (!decision.allowed()) out_ << ", retry after " << seconds_text(decision.retry_after);
    out_ << ", fresh again after " << seconds_text(decision.reset_after) << '\n';
  }

  void print(const char* what, const Result<Settlement>& settlement) {
    if (report_error(settlement)) return;
    out_ << what << ' ' << settlement->amount << ": " << settlement->remaining << " of " << settlement->limit
         << " left\n";
  }

  void take(const Words& words) {
    const auto cost = number_at(words, 3, 1);
    if (!cost) return;
    const auto decision = limiter_.take(words[1], words[2], *cost);
    if (!report_error(decision)) print(*decision);
  }

  void peek(const Words& words) {
    const auto cost = number_at(words, 3, 1);
    if (!cost) return;
    const auto decision = limiter_.peek(words[1], words[2], *cost);
    if (!report_error(decision)) print(*decision);
  }

  void give(const Words& words) {
    if (const auto cost = number_at(words, 3, 1)) print("given back", limiter_.give(words[1], words[2], *cost));
  }

  void hold(const Words& words) {
    const auto cost = number_at(words, 3, 1);
    const auto seconds = number_at(words, 4, 60);
    if (!cost || !seconds) return;
    const auto decision = limiter_.hold({{words[1], words[2], *cost}}, std::chrono::seconds(*seconds));
    if (report_error(decision)) return;
    print(*decision);
    if (decision->allowed()) out_ << "held for " << *seconds << " s; commit " << decision->id << '\n';
  }

  void commit(const Words& words) {
    if (words.size() == 2) return print("committed", limiter_.commit(words[1]));
    if (const auto amount = number_at(words, 2, 0)) print("committed", limiter_.commit(words[1], *amount));
  }

  void cancel(const Words& words) { print("returned", limiter_.cancel(words[1])); }

  void usage(const Words& words) {
    const auto usage = limiter_.usage(words[1], words[2]);
    if (report_error(usage)) return;
    out_ << usage->used << " used, " << usage->held << " held, " << usage->remaining << " of " << usage->limit
         << " left\n";
  }

  void top(const Words& words) {
    const auto keys = limiter_.top(words[1], 10);
    if (report_error(keys)) return;
    for (const KeyUsage& key : *keys) out_ << key.usage.used + key.usage.held << '\t' << key.key << '\n';
  }

  void limits(const Words&) {
    const auto names = limiter_.limits().value();
    for (const std::string& name : names) {
      const Limit limit = limiter_.limit(name).value().value();
      out_ << name << ": " << to_string(limit.kind()) << ' ' << limit.amount();
      if (limit.period()) out_ << " per " << seconds_text(*limit.period());
      if (limit.unit()) out_ << " per " << to_string(*limit.unit()) << " in " << limit.zone().value_or("UTC");
      out_ << '\n';
    }
  }

  void help(const Words&) {
    for (const Command& command : commands()) {
      std::string left = std::string(command.name) + ' ' + command.usage;
      left.resize(32, ' ');
      out_ << "  " << left << command.summary << '\n';
    }
    out_ << "  quit\n";
  }

  Limiter limiter_;
  std::ostream& out_;
};

const std::vector<Demo::Command>& Demo::commands() {
  static const std::vector<Command> kCommands = {
      {"take", "LIMIT KEY [COST]", "may this happen, and what is left?", 2, 3, &Demo::take},
      {"peek", "LIMIT KEY [COST]", "the same answer, and nothing changes", 2, 3, &Demo::peek},
      {"give", "LIMIT KEY [COST]", "give back what was taken", 2, 3, &Demo::give},
      {"hold", "LIMIT KEY [COST [SECONDS]]", "set aside, for a minute or so", 2, 4, &Demo::hold},
      {"commit", "ID [AMOUNT]", "charge what is held, or less", 1, 2, &Demo::commit},
      {"cancel", "ID", "return what is held", 1, 1, &Demo::cancel},
      {"usage", "LIMIT KEY", "used, held and left", 2, 2, &Demo::usage},
      {"top", "LIMIT", "the keys that use most", 1, 1, &Demo::top},
      {"limits", "", "what is defined here", 0, 0, &Demo::limits},
      {"help", "", "this list", 0, 0, &Demo::help},
  };
  return kCommands;
}

Limiter make_limiter() {
  auto limiter = open("embedded:").value();
  limiter.define(bucket("api").amount(10).per(1min)).value();
  limiter.define(calendar("links").amount(20).per(Unit::kMonth).zone("Europe/Berlin")).value();
  limiter.define(stock("credits").amount(100)).value();
  return limiter;
}

// Reads commands until the input ends or says quit.
int run_demo(const Invocation&, Console& console) {
  const bool has_prompt = ::isatty(STDIN_FILENO) == 1;
  Demo demo(make_limiter(), console.out);
  console.out << "Mete, in memory. Three limits to try:\n";
  demo.obey("limits");
  console.out << "For example: take api alice    hold credits alice 10    help\n";
  std::string line;
  for (;;) {
    if (has_prompt) console.out << "mete> " << std::flush;
    if (!std::getline(console.in, line) || !demo.obey(line)) break;
  }
  return kExitDone;
}

}  // namespace

Command demo_command() {
  return {.name = "demo",
          .summary = "Try the engine at a prompt",
          .description = {"Everything is kept in memory and gone afterwards. 'help' lists what can be tried."},
          .run = run_demo};
}

}  // namespace mete::cli
