// `mete top`: what a server is doing, live.
#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "base/monotonic.h"
#include "base/try.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/top/picture.h"
#include "cli/top/terminal.h"
#include "wire/json.h"

namespace mete::cli {

namespace {

constexpr Duration kIntervalMin = std::chrono::milliseconds(100);
constexpr Duration kIntervalMax = std::chrono::hours(1);
constexpr std::size_t kListedMax = 100;   // keys and holds, on a screen
constexpr std::size_t kListedPlain = 10;  // and without one

struct TopOptions {
  std::string server;
  Duration interval;
};

// Two readings, so that there are rates to tell.
Result<Picture> measure(Connection& server, const TopOptions& options) {
  const auto before = TRY(read_server(server, kListedPlain));
  std::this_thread::sleep_for(std::chrono::nanoseconds(options.interval.ns()));
  auto after = TRY(read_server(server, kListedPlain));
  return next_picture(options.server, before, std::move(after));
}

Result<int> print_once(Connection& server, const TopOptions& options, const Invocation& invocation, Console& console) {
  const auto picture = TRY(measure(server, options));
  std::string text;
  for (const ScreenLine& line : render(picture, {})) text += line.text + "\n";
  return answer(invocation, console, text, [&](wire::JsonWriter& writer) { write_picture(picture, writer); });
}

void show(const Picture& picture) {
  const ScreenSize size = Terminal::size();
  Terminal::draw(render(picture, size), size);
}

// Whether somebody quit before the time was over. A change of size draws the picture again.
bool is_quit_within(Duration interval, const Picture& picture) {
  const std::uint64_t end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(interval.ns());
  for (;;) {
    const std::uint64_t now_ns = base::monotonic_ns();
    if (now_ns >= end_ns) return false;
    switch (Terminal::wait(Duration::from_ns(static_cast<std::int64_t>(end_ns - now_ns)))) {
      case Terminal::Event::kQuit:
        return true;
      case Terminal::Event::kResized:
        show(picture);
        break;
      case Terminal::Event::kTimeout:
        break;
    }
  }
}

Result<Reading> read_for_screen(Connection& server) {
  return read_server(server, std::clamp<std::size_t>(Terminal::size().rows, 1, kListedMax));
}

// The error is told when the terminal is as it was.
Result<void> run_live(Connection& server, const TopOptions& options) {
  auto reading = TRY(read_for_screen(server));
  const Terminal terminal;
  Picture picture = first_picture(options.server, std::move(reading));
  for (;;) {
    show(picture);
    if (is_quit_within(options.interval, picture)) return {};
    auto next = TRY(read_for_screen(server));
    picture = next_picture(options.server, picture.reading, std::move(next));
  }
}

Result<int> run_top(const Invocation& invocation, Console& console) {
  const TopOptions options{.server = invocation.value("server", console),
                           .interval = invocation.duration("interval", console)};
  if (options.interval < kIntervalMin || options.interval > kIntervalMax) {
    return usage_error(invocation, "option '--interval' must be 100ms to 1h");
  }
  auto server = TRY(connect(invocation, console));
  const bool is_live = Terminal::is_there() && !invocation.is_on("once") && !invocation.is_on("json");
  if (!is_live) return print_once(server, options, invocation, console);
  const auto done = run_live(server, options);
  return done ? kExitDone : fail(console, done.error().message);
}

}  // namespace

Command top_command() {
  return {.name = "top",
          .summary = "Watch a server: decisions and denials a second, the busiest keys, the oldest holds",
          .description = {"Of a node of a cluster it also shows the other nodes, the shares that it holds, draws a "
                          "second, and how many of its decisions were made from shares, without asking anybody.",
                          "q or Ctrl-C quits. Without a terminal, with --once or with --json it measures for one "
                          "interval, prints what it found and ends."},
          .options = client_options({{"interval", ArgumentType::kDuration, "DURATION",
                                      "How often the screen is drawn, and over which time rates are measured", "1s"},
                                     flag("once", "Print one frame as text")}),
          .examples = {{"mete top", "On the screen, each second"},
                       {"mete top --json --interval 10s", "Rates over ten seconds, for a script"}},
          .run = run_top};
}

}  // namespace mete::cli
