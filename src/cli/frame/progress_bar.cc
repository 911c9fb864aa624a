#include "cli/frame/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "base/math.h"
#include "base/monotonic.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

constexpr std::size_t kBarColumns = 24;
constexpr std::uint64_t kDrawEveryNs = 100'000'000;
constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

std::string bar_text(std::string_view what, std::uint64_t done, std::uint64_t total, std::string_view tail) {
  // A file that grows while it is read has more than was thought.
  const auto known = std::max<std::uint64_t>({done, total, 1});
  const auto share = [&](std::uint64_t of) {
    return static_cast<std::size_t>(base::div_floor(base::multiply(done, of), known));
  };
  const std::size_t filled = share(kBarColumns);
  const std::string sizes =
      size_text(static_cast<std::int64_t>(done)) + " of " + size_text(static_cast<std::int64_t>(known));
  return std::string(what) + "  [" + std::string(filled, '#') + std::string(kBarColumns - filled, '.') + "]  " +
         std::to_string(share(100)) + "%  " + (tail.empty() ? sizes : std::string(tail));
}

ProgressBar::ProgressBar(Console& console) : out_(console.error), is_shown_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(std::string_view what, std::uint64_t done, std::uint64_t total, std::string_view tail) {
  if (!is_shown_) return;
  const std::uint64_t now = base::monotonic_ns();
  if (is_drawn_ && now - drawn_ns_ < kDrawEveryNs) return;
  out_ << kClearLine << bar_text(what, done, total, tail) << std::flush;
  is_drawn_ = true;
  drawn_ns_ = now;
}

void ProgressBar::clear() {
  if (is_drawn_) out_ << kClearLine << std::flush;
  is_drawn_ = false;
}

}  // namespace mete::cli
