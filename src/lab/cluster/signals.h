// Signals: those that ask this process to end, and the news of its children, waited for instead of handled.
//
// While it lives they are blocked, in this thread and in those that it starts. Thread safety: none.
#pragma once

#include <mete/time.h>

#include <csignal>

namespace mete::cli {

class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // Until the time is over, a child has ended, or somebody asks this process to end: true for the last of these. Asked
  // once, it stays so until forget().
  bool is_asked_to_end_within(Duration time);
  void forget() { is_asked_ = false; }

 private:
  sigset_t waited_for_ = {};
  sigset_t before_ = {};
  bool is_asked_ = false;
};

}  // namespace mete::cli
