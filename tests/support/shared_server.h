// SharedServer: one server for all tests of this program, since a start costs more than most tests. It is started when
// it is first asked for, and ends with the program.
//
//     RedisServer& shared_redis() {
//       static SharedServer<RedisServer> shared([](auto& server) { server.emplace(); },
//                                               [](RedisServer& server) { server.call({"FLUSHALL"}); });
//       return shared.as_new();
//     }
//
// A test that fails may leave it dead, paused or spoiled. Then it cannot be cleared, which is an exception, and another
// one takes its place, at the same address in memory: references to it stay good. Thread safety: none.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace mete::support {

template <class Server>
class SharedServer {
 public:
  using Start = std::function<void(std::optional<Server>&)>;
  using Clear = std::function<void(Server&)>;

  SharedServer(Start start, Clear clear) : start_(std::move(start)), clear_(std::move(clear)) {}

  // Nothing that earlier tests did is left in it.
  Server& as_new() {
    if (server_ && is_cleared()) return *server_;
    start_(server_);
    clear_(*server_);
    return *server_;
  }

 private:
  bool is_cleared() {
    try {
      clear_(*server_);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  Start start_;
  Clear clear_;
  std::optional<Server> server_;
};

}  // namespace mete::support
