// Proxy: stands between a client and a server of this machine, and does to their connections what networks do.
//
//     Proxy proxy(server.port());
//     auto limiter = mete::open(proxy.url()).value();
//     proxy.delay_replies(400ms);
//     proxy.cut();                 // resets what is connected now; new connections are as before
//     proxy.pass();                // back to normal
//
// Bytes pass on a thread of its own. A change is in force when its call returns. Thread safety: every call, from any
// thread.
#pragma once

#include <mete/time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "net/descriptor.h"

namespace mete::support {

class Proxy {
 public:
  explicit Proxy(std::uint16_t target_port);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  // How many connections were made to it so far.
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }

  void pass() { change({}); }
  void delay_replies(Duration by);
  // Requests arrive, and their replies never do; the connections stay open.
  void swallow_replies() { change({.fate = Fate::kSwallow}); }
  // Requests arrive, and the connection is reset when the reply comes.
  void cut_at_replies() { change({.fate = Fate::kCut}); }
  // A reply comes in two parts, with a pause between them.
  void halve_replies() { change({.fate = Fate::kHalve}); }
  // In the place of a reply comes one that makes no sense.
  void garble_replies() { change({.fate = Fate::kGarble}); }
  // A connection is closed behind so many replies.
  void close_after(std::size_t replies) { change({.replies_max = replies}); }
  // Resets all connections, now. The rest is as it was.
  void cut() {
    do_there([this] { reset_all(); });
  }
  // Resets all connections, and refuses new ones.
  void refuse() { change({.is_refusing = true}); }

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Fate : std::uint8_t { kPass, kSwallow, kCut, kHalve, kGarble };  // of a reply
  struct Conduct {
    Fate fate = Fate::kPass;
    std::chrono::nanoseconds delay = {};
    std::size_t replies_max = std::numeric_limits<std::size_t>::max();
    bool is_refusing = false;
  };
  struct Reply {
    Time due;
    std::string bytes;
  };
  struct Pair {
    net::Descriptor client;
    net::Descriptor server;
    std::deque<Reply> replies = {};  // not yet passed on
    std::size_t replied = 0;
  };

  // Runs it on the proxy's thread, to which all below belongs, and waits for that.
  void do_there(std::function<void()> task);
  void change(const Conduct& conduct);
  void run();
  void run_tasks();
  void reset_all();
  void accept();
  [[nodiscard]] int wait_ms() const;
  // False: it is over for this pair.
  bool serve(Pair& pair, bool has_request, bool has_reply);
  bool take_reply(Pair& pair) const;

  std::uint16_t target_port_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> accepted_ = 0;
  net::Descriptor wakener_;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> tasks_;  // under the mutex
  bool is_ending_ = false;
  Conduct conduct_;
  net::Descriptor listener_;
  std::list<Pair> pairs_;
  std::thread thread_;
};

}  // namespace mete::support
