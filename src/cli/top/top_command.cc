// `mete top`: what a server is doing, live.
#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "base/monotonic.h"
#include "base/try.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/top/frame.h"
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
Result<Frame> measure(Client& client, const TopOptions& options) {
  const auto before = TRY(read_server(client, kListedPlain));
  std::this_thread::sleep_for(std::chrono::nanoseconds(options.interval.ns()));
  auto after = TRY(read_server(client, kListedPlain));
  return next_frame(options.server, before, std::move(after));
}

Result<int> print_once(Client& client, const TopOptions& options, const Invocation& invocation, Console& console) {
  const auto frame = TRY(measure(client, options));
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { write_frame(frame, writer); });
    return kExitDone;
  }
  for (const ScreenLine& line : render(frame, {})) console.out << line.text << '\n';
  return kExitDone;
}

void show(const Frame& frame) {
  const ScreenSize size = Terminal::size();
  Terminal::draw(render(frame, size), size);
}

// Whether somebody quit before the time was over. A change of size draws the frame again.
bool is_quit_within(Duration interval, const Frame& frame) {
  const std::uint64_t end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(interval.ns());
  for (;;) {
    const std::uint64_t now_ns = base::monotonic_ns();
    if (now_ns >= end_ns) return false;
    switch (Terminal::wait(Duration::from_ns(static_cast<std::int64_t>(end_ns - now_ns)))) {
      case Terminal::Event::kQuit:
        return true;
      case Terminal::Event::kResized:
        show(frame);
        break;
      case Terminal::Event::kTimeout:
        break;
    }
  }
}

Result<Reading> read_for_screen(Client& client) {
  return read_server(client, std::clamp<std::size_t>(Terminal::size().rows, 1, kListedMax));
}

// The error is told when the terminal is as it was.
Result<void> run_live(Client& client, const TopOptions& options) {
  auto reading = TRY(read_for_screen(client));
  const Terminal terminal;
  Frame frame = first_frame(options.server, std::move(reading));
  for (;;) {
    show(frame);
    if (is_quit_within(options.interval, frame)) return {};
    auto next = TRY(read_for_screen(client));
    frame = next_frame(options.server, frame.reading, std::move(next));
  }
}

Result<int> run_top(const Invocation& invocation, Console& console) {
  const TopOptions options{.server = invocation.value("server", console),
                           .interval = invocation.duration("interval", console)};
  if (options.interval < kIntervalMin || options.interval > kIntervalMax) {
    return fail_usage(invocation, console, "option '--interval' must be 100ms to 1h");
  }
  auto client = TRY(Client::open(invocation, console));
  const bool is_live = Terminal::is_there() && !invocation.is_on("once") && !invocation.is_on("json");
  if (!is_live) return print_once(client, options, invocation, console);
  const auto done = run_live(client, options);
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
          .options = client_options({{"interval", ValueKind::kDuration, "DURATION",
                                      "How often the screen is drawn, and over which time rates are measured", "1s"},
                                     {.name = "once", .help = "Print one frame as text"}}),
          .examples = {{"mete top", "On the screen, each second"},
                       {"mete top --json --interval 10s", "Rates over ten seconds, for a script"}},
          .run = run_top};
}

}  // namespace mete::cli
