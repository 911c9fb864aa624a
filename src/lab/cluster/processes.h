// Processes: those that `mete cluster` starts, and the signals that end it.
//
// Child: a process that this one has started, with its output in a file. It does not outlive this one, even if this one
// is killed; it has a process group of its own, so that Ctrl-C at the terminal reaches only whoever started it.
//
// Signals: those that ask this process to end, and the news of its children, waited for instead of handled. While it
// lives they are blocked, in this thread and in those that it starts.
//
// Thread safety: none. The thread that starts a child must live as long as the child.
#pragma once

#include <mete/result.h>
#include <mete/time.h>
#include <sys/types.h>

#include <csignal>
#include <map>
#include <optional>
#include <string>

#include "lab/cluster/plan.h"

namespace mete::lab {

class Child {
 public:
  static Result<Child> start(const PlannedProcess& planned, const std::map<std::string, std::string>& environment);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills it, if it still runs

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_running();
  void signal(int signal);
  // "ended with status 2", "was killed by signal 9"; once it has ended.
  [[nodiscard]] std::string ending() const;
  // The last lines of its output, each on a new line and indented; nothing that a terminal would obey.
  [[nodiscard]] std::string last_lines() const;

 private:
  Child(const PlannedProcess& planned, pid_t process) : name_(planned.name), log_(planned.log), process_(process) {}

  std::string name_;
  std::string log_;
  pid_t process_;                   // 0: moved away
  std::optional<int> status_ = {};  // as waitpid() tells it; none: it runs
};

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

}  // namespace mete::lab
