#include "lab/cluster/signals.h"

#include <ctime>

namespace mete::cli {

Signals::Signals() {
  ::sigemptyset(&waited_for_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&waited_for_, signal);
  ::pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
}

Signals::~Signals() {
  // What came meanwhile was meant for what is over.
  while (is_asked_to_end_within(Duration())) is_asked_ = false;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Signals::is_asked_to_end_within(Duration time) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  if (is_asked_) return true;
  const timespec timeout = {.tv_sec = time.ns() / kSecondNs, .tv_nsec = time.ns() % kSecondNs};
  const int signal = ::sigtimedwait(&waited_for_, nullptr, &timeout);
  is_asked_ = signal > 0 && signal != SIGCHLD;
  return is_asked_;
}

}  // namespace mete::cli
