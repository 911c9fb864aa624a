// Background: work that would hold up an event loop. It runs on one thread beside the loops, on fibers: a piece that
// works keeps the others waiting, one that waits for a network or a disk does not.
//
// Clients have their turns by the addresses that they come from, however many connections each has: who asks for much
// waits behind itself. What the server needs itself, and what the admin alone may ask, has places of its own and every
// other turn, so that it never waits for more than one piece of others that works.
//
//     run ────────▶ an address's pieces, in their order ── by turns ──▶ kAtOnce places ──┐ by turns, when
//     run_first ──▶ in their order ───────────────────────────────────▶ kAtOnce places ──┴ the thread is free ──▶
//     fibers
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "net/fiber_thread.h"
#include "server/doors/guesses.h"

namespace mete::server {

class Background {
 public:
  using Task = std::function<void()>;
  static constexpr std::size_t kTasksMax = 10'000;         // of all clients
  static constexpr std::size_t kTasksOfSourceMax = 2'000;  // of those at one address
  static constexpr std::size_t kFirstMax = 1'000;          // of the server and the admin
  // What the tasks of those at one address keep until they have ended. One task may have more.
  static constexpr std::size_t kBytesOfSourceMax = std::size_t{64} << 20;
  // Pieces under way, of clients and of the others each; and of one address, which leaves places to the next.
  static constexpr std::size_t kAtOnce = 256;
  static constexpr std::size_t kAtOnceOfSource = kAtOnce / 4;

  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() { finish(); }
  // Waits for what has begun; what has not is left undone, and what comes later is, too.
  void finish();

  // False if too much is waiting already. `bytes`: what the task keeps.
  [[nodiscard]] bool run(const GuessSource& source, Task task, std::size_t bytes = 0);
  [[nodiscard]] bool run_first(Task task);

 private:
  struct Piece {
    Task task;
    std::size_t bytes = 0;
  };
  // An address with pieces that wait or are under way. It has a turn while some wait and it may begin another one.
  struct Source {
    std::deque<Piece> waiting;
    std::size_t under_way = 0;
    std::size_t bytes = 0;  // of both

    [[nodiscard]] bool may_begin() const { return !waiting.empty() && under_way < kAtOnceOfSource; }
  };
  using Sources = std::map<GuessSource, Source>;

  // On a fiber: the next piece, from its choice to its end.
  void do_next();
  // With mutex_ locked, all below.
  [[nodiscard]] bool may_begin_first() const { return !first_.empty() && first_under_way_ < kAtOnce; }
  [[nodiscard]] bool may_begin_clients() const { return !turns_.empty() && under_way_ < kAtOnce; }
  // Lets a fiber choose once the thread is free; there is one at a time, so that what comes meanwhile has its turn.
  void ask_for_next();
  Piece begin_first();
  Piece begin_clients(GuessSource& source);
  void end_of(const GuessSource& source, std::size_t bytes);

  std::mutex mutex_;
  std::deque<Task> first_;
  std::size_t first_under_way_ = 0;
  Sources sources_;
  std::deque<Sources::iterator> turns_;  // each source that may begin a piece, once
  std::size_t waiting_ = 0;              // pieces of all sources
  std::size_t under_way_ = 0;
  bool was_first_ = false;     // the last turn
  bool is_asked_for_ = false;  // a fiber will choose
  bool is_stopping_ = false;
  net::FiberThread thread_{2 * kAtOnce + 1};  // last: it uses all of the above
};

}  // namespace mete::server
