// CounterExchange: keeps the counters of this node and those of the others the same, and on disk. It has one thread,
// which brings each other node what has changed here, over a connection to its RESP listener.
//
//     STORE MERGE cluster node incarnation states  ──▶  merged there; the answer says which of its lives it is in
//
// What came from one node goes on to the others, so nodes that do not reach each other agree by way of a third.
// Ownership: borrows the counters, the clock and the log. Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "escrow/counters/counter_file.h"
#include "escrow/counters/counters.h"
#include "escrow/counters/progress.h"
#include "escrow/nodes/roll.h"
#include "escrow/others/peers.h"
#include "net/event_loop.h"
#include "net/fiber.h"

namespace mete::escrow {

// What one node brings another.
struct CounterMessage {
  ClusterNumber cluster = 0;
  Writer from;
  std::string_view states;  // as decode_states() reads them; none: it asks whether the other is there
};

struct PeerStatus {
  std::string name;
  std::string address;
  bool is_connected = false;
  std::size_t lag = 0;          // counters with changes that it has not merged
  std::string last_error = {};  // why there is no link; empty while there is one
};

class CounterExchange {
 public:
  static constexpr std::size_t kPeersMax = 64;
  // A counter that is busy is sent so often and no more; a long list of changes goes without pauses.
  static constexpr Duration kLookEvery = std::chrono::milliseconds(20);
  static constexpr Duration kWriteEvery = std::chrono::milliseconds(800);
  // An idle link is tried so often, and one that owes an answer for so long is dead.
  static constexpr Duration kAskEvery = std::chrono::milliseconds(500);
  static constexpr Duration kAnswerWithin = std::chrono::seconds(1);
  static constexpr Duration kPauseMin = std::chrono::milliseconds(50);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(400);

  struct Parts {
    Counters* counters = nullptr;
    const Clock* clock = nullptr;  // that of the counters
    base::Log* log = nullptr;
    std::unique_ptr<CounterFile> file = {};  // null: counters are in memory alone
    ClusterNumber cluster = 0;
    std::shared_ptr<const PeerCredentials> credentials = std::make_shared<const PeerCredentials>();
  };
  explicit CounterExchange(Parts parts);
  CounterExchange(const CounterExchange&) = delete;
  CounterExchange& operator=(const CounterExchange&) = delete;
  ~CounterExchange();

  // Writes and brings what has changed; the destructor waits for it, for two seconds at most.
  void stop_soon();

  // In place of those that were set before: links to those that stay are not touched.
  void set_peers(std::vector<PeerAddress> peers);
  // For connections from now on.
  void set_credentials(std::shared_ptr<const PeerCredentials> credentials);
  [[nodiscard]] std::vector<PeerStatus> status() const;
  // Why counters do not reach the disk any more.
  [[nodiscard]] std::optional<Error> disk_failure() const;

 private:
  struct Link;

  // These are on the thread.
  void look();
  void finish();
  void write_file();
  void begin(const std::shared_ptr<Link>& link);
  [[nodiscard]] std::vector<std::shared_ptr<Link>> links() const;
  [[nodiscard]] std::shared_ptr<const PeerCredentials> credentials() const;
  [[nodiscard]] bool is_due(const Link& link) const;
  void talk(Link& link);
  Result<bool> bring(Link& link, const net::Deadline& deadline);
  Result<Writer> ask(Link& link, std::string_view states, const net::Deadline& deadline);
  void note(Link& link, const Result<void>& done);

  Parts parts_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Link>> links_;            // under mutex_
  std::optional<Error> disk_failure_;                   // under mutex_
  std::shared_ptr<const PeerCredentials> credentials_;  // under mutex_
  Instant written_at_;
  bool is_finishing_ = false;
  net::EventLoop loop_;
  net::Fibers fibers_{loop_};
  std::once_flag stopping_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::escrow
