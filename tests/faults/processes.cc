#include "faults/processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "support/waiting.h"

namespace mete::faults {

namespace {

// As it goes through the pipe, in one piece.
struct Counts {
  Amount allowed;
  Amount denied;
  Amount unavailable;
  std::int64_t is_wrong;
  std::int64_t slowest_ns;
};

[[noreturn]] void work_and_tell(const std::function<Tally()>& work, const net::Descriptor& pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const Tally tally = work();
    const Counts counts = {tally.allowed, tally.denied, tally.unavailable, tally.wrong.empty() ? 0 : 1,
                           tally.slowest.count()};
    if (::write(pipe.get(), &counts, sizeof(counts)) == sizeof(counts)) ::_exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a process of the test failed: %s\n", error.what());
  }
  ::_exit(1);
}

}  // namespace

Processes::Processes(int count, const std::function<Tally()>& work) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) support::fail("no pipe for the test's processes");
  counts_ = net::Descriptor(ends[0]);
  const net::Descriptor to_fill(ends[1]);
  for (int i = 0; i < count; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) work_and_tell(work, to_fill);
    if (pid < 0) support::fail("no further process can be started");
    pids_.push_back(pid);
  }
}

Processes::~Processes() {
  for (const pid_t pid : pids_) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

Tally Processes::join() {
  Tally sum;
  std::size_t heard = 0;
  Counts counts = {};
  while (::read(counts_.get(), &counts, sizeof(counts)) == sizeof(counts)) {
    ++heard;
    sum += {.allowed = counts.allowed,
            .denied = counts.denied,
            .unavailable = counts.unavailable,
            .wrong = counts.is_wrong == 0 ? "" : "an unexpected error",
            .slowest = std::chrono::nanoseconds(counts.slowest_ns)};
  }
  for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  if (heard != pids_.size()) support::fail("a process of the test ended early");
  pids_.clear();
  return sum;
}

}  // namespace mete::faults
