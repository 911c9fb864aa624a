// ChildProcess: a program that a test starts, and that ends with it at the latest.
//
// It is killed when this object goes, and by the kernel when the thread that started it ends (PR_SET_PDEATHSIG): so
// start it on the test's own thread. Trouble is an exception, by which the test fails. Thread safety: none.
#pragma once

#include <mete/time.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mete::support {

class ChildProcess {
 public:
  struct Command {
    std::vector<std::string> words;             // the first one is found through PATH
    std::vector<std::string> environment = {};  // NAME=value, on top of this process's
    std::filesystem::path output;               // a file for what it prints, anew
    std::string user = {};                      // whom root becomes for it; empty: whoever this process is
    std::filesystem::path directory = {};       // where it runs; empty: where this process does
  };

  ChildProcess() = default;
  explicit ChildProcess(const Command& command);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_running();
  void signal(int number) const;
  // Stands still, with its connections open, and goes on.
  void pause() const;
  void resume() const;
  // SIGKILL, and waits for its end. Nothing if it has ended.
  void kill_hard();
  // Waits for its end; false if the time is over first.
  [[nodiscard]] bool ends_within(Duration at_most);

 private:
  pid_t pid_ = -1;
};

// SIGSTOP, and waits until each of its threads has stopped: the signal alone lets them finish what they are at.
void stop_process(pid_t pid);

// A folder of its own, gone with this object.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mete::support
