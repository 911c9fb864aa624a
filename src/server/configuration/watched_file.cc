#include "server/configuration/watched_file.h"

#include <sys/epoll.h>
#include <sys/inotify.h>

#include <array>
#include <filesystem>
#include <utility>

namespace mete::server {

namespace {

// A file is written in several steps; half of it would only be refused.
constexpr Duration kSettleTime = std::chrono::milliseconds(100);

}  // namespace

// The folder is watched and not the file: a file that is replaced is another one. What else changes in the folder costs
// a needless reload at worst, and that changes nothing.
WatchedFile::WatchedFile(net::EventLoop& loop, const std::string& path, std::function<void()> on_change)
    : loop_(loop), inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), on_change_(std::move(on_change)) {
  const std::string folder = std::filesystem::absolute(path).parent_path();
  if (!inotify_.is_open()) return;
  ::inotify_add_watch(inotify_.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE);
  loop_.watch(inotify_.get(), EPOLLIN, *this);
}

WatchedFile::~WatchedFile() {
  loop_.cancel(settling_);
  if (inotify_.is_open()) loop_.forget(inotify_.get());
}

void WatchedFile::on_events(std::uint32_t /*events*/) {
  std::array<char, 4096> events;  // NOLINT(cppcoreguidelines-pro-type-member-init): what happened does not matter
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  loop_.cancel(settling_);
  settling_ = loop_.after(kSettleTime, on_change_);
}

}  // namespace mete::server
