#include "cli/top/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/check.h"
#include "cli/frame/command.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr ScreenSize kUsualSize = {.columns = 80, .rows = 24};

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// For the signal handlers; written before they are set.
termios modes_before;
termios modes_within;
volatile std::sig_atomic_t is_entered = 0;
volatile std::sig_atomic_t is_resized = 0;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // there is nobody to tell
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// These two call nothing that a signal handler may not call.
void enter() {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &modes_within);
  write_all(kEnter);
  is_entered = 1;
}

void leave() {
  if (is_entered == 0) return;
  is_entered = 0;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
}

void on_ending(int signal) {
  leave();
  if (signal == SIGINT) ::_exit(kExitDone);
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // delivered when this returns
}

void on_stopping(int /*signal*/) {
  const int error = errno;
  leave();
  std::raise(SIGSTOP);
  enter();
  is_resized = 1;
  errno = error;
}

void on_resize(int /*signal*/) { is_resized = 1; }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // without SA_RESTART, so that poll() ends
  ::sigaction(signal, &action, nullptr);
}

// `q`, or nobody there any more.
bool is_quit_typed() {
  std::array<char, 64> keys = {};
  const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (count < 0) return errno != EINTR && errno != EAGAIN;
  const std::string_view typed(keys.data(), static_cast<std::size_t>(count));
  return typed.empty() || typed.find_first_of("qQ") != std::string_view::npos;
}

}  // namespace

bool Terminal::is_there() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

Terminal::Terminal() {
  CHECK(is_entered == 0);
  ::tcgetattr(STDIN_FILENO, &modes_before);
  modes_within = modes_before;
  modes_within.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  for (const int signal : kEnding) handle(signal, on_ending);
  handle(SIGTSTP, on_stopping);
  handle(SIGWINCH, on_resize);
  enter();
}

Terminal::~Terminal() {
  leave();
  for (const int signal : kEnding) handle(signal, SIG_DFL);
  handle(SIGTSTP, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
}

ScreenSize Terminal::size() {
  winsize window = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return kUsualSize;
  return {.columns = window.ws_col, .rows = window.ws_row};
}

void Terminal::draw(const std::vector<ScreenLine>& lines, ScreenSize size) {
  std::string text = "\x1b[H";
  for (const ScreenLine& line : lines) {
    if (&line != &lines.front()) text += '\n';
    if (line.is_title)
      text += "\x1b[7m" + line.text + std::string(size.columns - columns_of(line.text), ' ') + "\x1b[0m";
    if (!line.is_title) text += line.text;
    text += "\x1b[K";
  }
  write_all(text + "\x1b[J");
}

Terminal::Event Terminal::wait(Duration timeout) {
  if (is_resized == 0) {
    pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&keys, 1, static_cast<int>(timeout.ms()));
    if (ready > 0) return is_quit_typed() ? Event::kQuit : Event::kTimeout;
  }
  const bool was_resized = is_resized != 0;
  is_resized = 0;
  return was_resized ? Event::kResized : Event::kTimeout;
}

}  // namespace mete::cli
