// Fibers: functions that wait for a network without keeping a thread.
//
//     fibers.run([&] { auto verdict = store.take(request); … });   // take() may wait for a socket
//
// run() begins the function at once, on a stack of its own. Where the function waits, run() returns and the event loop
// goes on with other work; when the thing it waits for has come, the loop continues it. So code that asks another
// server is written as if it had a thread of its own, and a loop serves thousands of such calls at a time.
//
//     run ──▶ function ── waits ──▶ loop ── other work ── event, timer or Signal ──▶ function ── done ──▶ loop
//
// The ways to wait are below, and in net/signal.h. Each works on a plain thread, too: there it blocks the thread. A
// fiber never changes its thread: what it shares with its loop needs no lock. But a std::mutex that is held while a
// fiber waits would stop every other fiber that wants it, and the loop with them: let go of locks before waiting.
//
// Thread safety: on the loop's thread alone.
#pragma once

#include <mete/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "net/deadline.h"
#include "net/event_loop.h"

namespace mete::net {

class Fiber;

class Fibers {
 public:
  explicit Fibers(EventLoop& loop);
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  // All functions have ended by then.
  ~Fibers();

  // Not within a fiber.
  void run(std::function<void()> function);
  // The same soon, from wherever on the loop's thread.
  void run_soon(std::function<void()> function);
  // Those of the fiber that this is; null: it is a plain thread.
  static Fibers* current();
  // Functions that have not ended.
  [[nodiscard]] std::size_t under_way() const { return all_.size() - idle_.size(); }

 private:
  friend class Fiber;

  EventLoop& loop_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;  // their stacks are used again
};

// Whether this is a fiber; else it is a plain thread, which blocks where it waits.
[[nodiscard]] bool is_on_fiber();

// Waits until the socket can be read (POLLIN) or written (POLLOUT); false if it is not so before the deadline.
bool wait_for_socket(int socket, short events, const Deadline& deadline);

// Lets others work for so long.
void pause_for(Duration length);
// Lets the other fibers of this round of the loop work first; on a plain thread it does nothing.
void let_others_go_first();

// For net/signal.h: the present wait of a fiber, which anybody may end.
struct FiberWait {
  Fiber* fiber = nullptr;    // null: this is a plain thread
  std::uint64_t number = 0;  // of the fiber's waits: one that has ended already is not ended again

  // Begins one. The caller must go on to rest().
  static FiberWait begin();
  // Until end(), or the deadline; it may return earlier (Cutoff).
  void rest(const Deadline& deadline) const;
  // From any thread, at any time.
  void end() const;
};

}  // namespace mete::net
