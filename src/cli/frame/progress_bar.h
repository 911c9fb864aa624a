// ProgressBar: how far something is that takes its time, on one line that is drawn over and over, and is gone at the
// end. Elsewhere than on a terminal it shows nothing.
//
//     checking  [##########..............]  42%  1.2 GB of 2.9 GB
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "cli/frame/command.h"

namespace mete::cli {

// The line, without its ends. Of bytes it tells how many; of anything else, what `tail` says.
std::string bar_text(std::string_view what, std::uint64_t done, std::uint64_t total, std::string_view tail = {});

class ProgressBar {
 public:
  // On standard error, if that is a terminal.
  explicit ProgressBar(Console& console);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  [[nodiscard]] bool is_shown() const { return is_shown_; }
  // As often as one likes: it draws now and then.
  void show(std::string_view what, std::uint64_t done, std::uint64_t total, std::string_view tail = {});
  // Takes it away.
  void clear();

 private:
  std::ostream& out_;
  const bool is_shown_;
  bool is_drawn_ = false;
  std::uint64_t drawn_ns_ = 0;
};

}  // namespace mete::cli
