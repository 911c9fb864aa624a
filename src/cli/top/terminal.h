// Terminal: the whole terminal for one program, key by key, on its alternate screen. However the program ends, what was
// there before comes back: when the Terminal goes, and on signals that end or stop the program.
//
// Ctrl-C ends the program with kExitDone. There is one Terminal at a time. Thread safety: none.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <vector>

#include "cli/top/picture.h"

namespace mete::cli {

class Terminal {
 public:
  // Whether a person is at both ends.
  static bool is_there();

  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] static ScreenSize size();
  static void draw(const std::vector<ScreenLine>& lines, ScreenSize size);

  enum class Event : std::uint8_t { kTimeout, kQuit, kResized };
  // Until something happens, or the time is over.
  static Event wait(Duration timeout);
};

}  // namespace mete::cli
