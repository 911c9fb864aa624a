// Listener: waits for messages on a channel, on a connection of its own.
//
// Redis says nothing while there is nothing to say; so a server that is gone without a word is noticed by a PING now
// and then. Thread safety: wait() on one thread at a time, stop() from any.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/descriptor.h"
#include "store/redis/client/node.h"

namespace mete::store::redis {

class Listener {
 public:
  // Without a byte for so long, the server is asked whether it is still there.
  static constexpr Duration kSilenceMax = std::chrono::seconds(1);

  // `find_node`: who is listened to, asked for each connection; null if there is nobody. `timeout`: to connect, and for
  // an answer.
  Listener(std::function<Node*()> find_node, Duration timeout);

  // As Link::wait_for_message() says it.
  Result<bool> wait(std::string_view channel, Duration at_most);
  // For the rest of the time, or until stop().
  void pause(const net::Deadline& deadline);
  void stop();

 private:
  Result<void> subscribe(std::string_view channel);
  Result<bool> wait_connected(const net::Deadline& deadline);
  // Whether a message is among what has arrived.
  Result<bool> take_message();
  // Waits for bytes until stop() is called or the time is over, and reads them.
  Result<void> read(const net::Deadline& deadline);
  // Asks a server that has been silent for long; an error if it did not answer the last time.
  Result<void> check_silence();
  [[nodiscard]] Instant next_check() const;

  std::function<Node*()> find_node_;
  const Duration timeout_;
  net::Descriptor stop_event_;
  std::atomic<bool> is_stopped_ = false;
  std::optional<RespClient> client_;
  std::string channel_;
  Instant heard_at_;                 // the last byte
  std::optional<Instant> asked_at_;  // a PING that has no answer yet
};

}  // namespace mete::store::redis
