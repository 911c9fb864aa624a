#include "server/configuration/watched_files.h"

#include <sys/epoll.h>
#include <sys/inotify.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace mete::server {

namespace {

// A file is written in several steps; half of it would only be refused.
constexpr Duration kSettleTime = std::chrono::milliseconds(100);

}  // namespace

WatchedFiles::WatchedFiles(net::EventLoop& loop, std::function<void()> on_change)
    : loop_(loop), inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), on_change_(std::move(on_change)) {
  if (inotify_.is_open()) loop_.watch(inotify_.get(), EPOLLIN, *this);
}

WatchedFiles::~WatchedFiles() {
  loop_.cancel(settling_);
  if (inotify_.is_open()) loop_.forget(inotify_.get());
}

// The folders are watched and not the files: a file that is replaced is another one. A folder stays watched when its
// files are not any more: what happens in it is then nobody's change.
void WatchedFiles::watch(const std::vector<std::string>& paths) {
  std::map<std::string, Stamp> files;
  for (const std::string& path : paths) {
    const auto known = files_.find(path);
    files[path] = known != files_.end() ? known->second : stamp_of(path);
    std::error_code problem;
    const bool is_folder = std::filesystem::is_directory(path, problem);
    const std::string folder = is_folder ? path : std::filesystem::absolute(path).parent_path().string();
    if (inotify_.is_open()) {
      ::inotify_add_watch(inotify_.get(), folder.c_str(),
                          IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM);
    }
  }
  files_ = std::move(files);
}

WatchedFiles::Stamp WatchedFiles::stamp_of(const std::string& path) {
  Stamp stamp;
  const auto add = [&stamp](const std::string& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return;
    stamp[file] = {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  };
  std::error_code problem;
  if (!std::filesystem::is_directory(path, problem)) {
    add(path);
    return stamp;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path, problem)) add(entry.path());
  return stamp;
}

// The names in the events are not looked at: a path may lead through links, whose other ends change under other names.
void WatchedFiles::on_events(std::uint32_t /*events*/) {
  std::array<char, 4096> events;  // NOLINT(cppcoreguidelines-pro-type-member-init): what happened does not matter
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  bool has_changed = false;
  for (auto& [path, known] : files_) {
    auto stamp = stamp_of(path);
    // A file that is not there is about to be replaced; of a folder that is none, its files are gone.
    std::error_code problem;
    const bool is_gone = stamp.empty() && !std::filesystem::is_directory(path, problem);
    if (is_gone || stamp == known) continue;
    known = std::move(stamp);
    has_changed = true;
  }
  if (!has_changed) return;
  loop_.cancel(settling_);
  settling_ = loop_.after(kSettleTime, on_change_);
}

}  // namespace mete::server
