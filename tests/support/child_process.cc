#include "support/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/files.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

std::string name_of(std::string_view variable) { return std::string(variable.substr(0, variable.find('='))); }

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool is_replaced = false;
    for (const std::string& each : added) is_replaced = is_replaced || name_of(each) == name_of(*variable);
    if (!is_replaced) all.emplace_back(*variable);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// All that is looked up before the fork: other threads may hold any lock at that moment, so nothing may allocate after.
struct Start {
  char* const* words;
  char* const* environment;
  const char* output;
  const char* directory;  // null: stay
  const passwd* user;     // null: stay
  pid_t parent;
};

[[noreturn]] void give_up() {
  constexpr int kNotStarted = 127;
  const char* why = ::strerror(errno);
  (void)!::write(STDERR_FILENO, why, std::strlen(why));
  ::_exit(kNotStarted);
}

[[noreturn]] void become(const Start& start) {
  const int input = ::open("/dev/null", O_RDONLY);
  const int file = ::open(start.output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(input, STDIN_FILENO);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  if (start.user != nullptr &&
      (::setgroups(0, nullptr) != 0 || ::setgid(start.user->pw_gid) != 0 || ::setuid(start.user->pw_uid) != 0)) {
    give_up();
  }
  if (start.directory != nullptr && ::chdir(start.directory) != 0) give_up();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);          // not before: it does not survive a change of the user
  if (::getppid() != start.parent) give_up();  // it ended before the line above
  ::execvpe(start.words[0], start.words, start.environment);
  give_up();
}

}  // namespace

ChildProcess::ChildProcess(const Command& command) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.environment);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  std::filesystem::remove(command.output);  // before it starts: nobody shall take another one's words for its own
  const Start start = {.words = word_pointers.data(),
                       .environment = environment_pointers.data(),
                       .output = command.output.c_str(),
                       .directory = command.directory.empty() ? nullptr : command.directory.c_str(),
                       .user = command.user.empty() ? nullptr : ::getpwnam(command.user.c_str()),
                       .parent = ::getpid()};
  if (start.user == nullptr && !command.user.empty()) fail("there is no user " + command.user);
  pid_ = ::fork();
  if (pid_ == 0) become(start);
  if (pid_ < 0) fail("cannot start " + words[0] + ": " + std::strerror(errno));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill_hard();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

ChildProcess::~ChildProcess() { kill_hard(); }

bool ChildProcess::is_running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void ChildProcess::pause() const {
  if (pid_ > 0) stop_process(pid_);
}

void ChildProcess::resume() const { signal(SIGCONT); }

void stop_process(pid_t pid) {
  ::kill(pid, SIGSTOP);
  const auto has_stopped = [pid] {
    std::error_code error;
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", error);
    return std::all_of(begin(tasks), end(tasks), [](const auto& task) {
      // "PID (NAME) STATE …"; T: stopped; Z: ended, and its parent, which may be stopped itself, has not looked yet. A
      // thread that is gone has no such file.
      const std::string stat = read_file(task.path() / "stat");
      const std::size_t state = stat.rfind(')') + 2;
      return state >= stat.size() || stat[state] == 'T' || stat[state] == 'Z';
    });
  };
  if (!becomes_true(std::chrono::seconds(30), has_stopped)) fail("a process does not stop on SIGSTOP");
}

void ChildProcess::kill_hard() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool ChildProcess::ends_within(Duration at_most) {
  return becomes_true(at_most, [this] { return !is_running(); });
}

TemporaryDirectory::TemporaryDirectory(const std::filesystem::path& parent) {
  std::string name = parent / "mete-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail("cannot make a directory " + name + ": " + std::strerror(errno));
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mete::support
