// WatchedFiles: tells when one of some files has changed, also when it was replaced by another of its name, as editors
// and Kubernetes do; or one of a folder's files, those that come among them.
//
// Thread safety: on its loop's thread alone.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "net/descriptor.h"
#include "net/event_loop.h"

namespace mete::server {

class WatchedFiles final : public net::EventHandler {
 public:
  // `on_change` comes a moment after the last of several changes in a row.
  WatchedFiles(net::EventLoop& loop, std::function<void()> on_change);
  ~WatchedFiles() override;

  // These from now on, and no others.
  void watch(const std::vector<std::string>& paths);

  void on_events(std::uint32_t events) override;

 private:
  // Of each file by its name: which one it is, and since when it is as it is. None: it is not there.
  using Stamp = std::map<std::string, std::tuple<dev_t, ino_t, off_t, time_t, long>>;

  static Stamp stamp_of(const std::string& path);

  net::EventLoop& loop_;
  net::Descriptor inotify_;
  std::function<void()> on_change_;
  std::map<std::string, Stamp> files_;  // by path
  net::EventLoop::TimerId settling_ = 0;
};

}  // namespace mete::server
