#include "lab/cluster/processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/errors.h"
#include "cli/frame/text.h"
#include "net/descriptor.h"

namespace mete::lab {

namespace {

constexpr int kNotExecuted = 127;  // as shells have it
constexpr std::size_t kLastLines = 5;
constexpr std::streamoff kLastBytes = 8'192;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// In the new process: calls only what may be called between fork() and exec() whatever other threads were doing.
[[noreturn]] void become(char* const* words, char* const* environment, int input, int output, pid_t parent) {
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNotExecuted);  // it has gone already, and no signal will tell
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execve(words[0], words, environment);
  constexpr std::string_view kMessage = "the program cannot be executed\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(kNotExecuted);
}

Error system_error(const std::string& what) {
  return base::unavailable(what + ": " + std::generic_category().message(errno));
}

}  // namespace

Result<Child> Child::start(const PlannedProcess& planned, const std::map<std::string, std::string>& environment) {
  const net::Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const net::Descriptor output(::open(planned.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!input.is_open() || !output.is_open()) return system_error("cannot write to " + planned.log);
  std::vector<std::string> words = planned.words;
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) variables.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> word_pointers = pointers(words);
  const std::vector<char*> variable_pointers = pointers(variables);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) become(word_pointers.data(), variable_pointers.data(), input.get(), output.get(), parent);
  if (process < 0) return system_error("cannot start " + planned.name);
  return Child(planned, process);
}

Child::Child(Child&& other) noexcept
    : name_(std::move(other.name_)),
      log_(std::move(other.log_)),
      process_(std::exchange(other.process_, 0)),
      status_(other.status_) {}

Child::~Child() {
  if (process_ == 0 || !is_running()) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

bool Child::is_running() {
  CHECK(process_ > 0);
  if (status_) return false;
  int status = 0;
  if (::waitpid(process_, &status, WNOHANG) != process_) return true;
  status_ = status;
  return false;
}

void Child::signal(int signal) {
  if (is_running()) ::kill(process_, signal);
}

std::string Child::ending() const {
  CHECK(status_);
  if (WIFSIGNALED(*status_)) return "was killed by signal " + std::to_string(WTERMSIG(*status_));
  return "ended with status " + std::to_string(WEXITSTATUS(*status_));
}

std::string Child::last_lines() const {
  std::ifstream file(log_, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0) return {};
  file.seekg(std::max<std::streamoff>(0, size - kLastBytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLastLines); i < lines.size(); ++i) {
    text += "\n    " + cli::escaped(lines[i]);
  }
  return text;
}

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

}  // namespace mete::lab
