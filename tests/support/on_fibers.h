// on_fibers(): calls as a server makes them, many at a time on fibers of one event loop.
#pragma once

#include <cstddef>
#include <functional>

#include "net/event_loop.h"
#include "net/fiber.h"

namespace mete::support {

// Calls function(0) to function(count - 1), each on a fiber of its own, and returns when all have ended.
inline void on_fibers(std::size_t count, const std::function<void(std::size_t)>& function) {
  net::EventLoop loop;
  net::Fibers fibers(loop);
  std::size_t left = count;
  loop.post([&] {
    for (std::size_t i = 0; i < count; ++i) {
      fibers.run([&, i] {
        function(i);
        if (--left == 0) loop.stop();
      });
    }
  });
  loop.run();
}

}  // namespace mete::support
