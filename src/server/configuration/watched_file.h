// WatchedFile: tells when a file has changed, also when it was replaced by another of its name, as editors and
// Kubernetes do.
//
// Thread safety: on its loop's thread alone.
#pragma once

#include <functional>
#include <string>

#include "net/descriptor.h"
#include "net/event_loop.h"

namespace mete::server {

class WatchedFile final : public net::EventHandler {
 public:
  // `on_change` comes a moment after the last of several changes in a row.
  WatchedFile(net::EventLoop& loop, const std::string& path, std::function<void()> on_change);
  ~WatchedFile() override;

  void on_events(std::uint32_t events) override;

 private:
  net::EventLoop& loop_;
  net::Descriptor inotify_;
  std::function<void()> on_change_;
  net::EventLoop::TimerId settling_ = 0;
};

}  // namespace mete::server
