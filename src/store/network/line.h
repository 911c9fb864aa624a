// Line: what every connection has on which several calls are under way at a time, whatever its protocol.
//
//     calls ──▶ │ turn │ turn │ turn │ ◀── one of those who wait reads for all, and hands out what has come
//
// What fibers send in one round of their event loop leaves in one write. When the one who reads has its own answer, the
// next one reads on. A turn that is given up keeps its place until its answer has come, so that this is never taken for
// that of another. After a failure nothing is sent any more, and all who wait are told.
//
// `Self`, the protocol, derives from it and has
//     Result<void, Failure> write_added(deadline)    writes what was added to it, until nothing is left; for write()
//     Result<void, Failure> read_some(deadline)      one read, and hands out what it has brought
//     Failure no_answer(deadline)                    what a call is told whose time is over
// `Turn` has a Signal `changed`, which is notified when the turn's answer is there.
//
// Thread safety: none: for fibers of one event loop, or for one plain thread.
#pragma once

#include <mete/result.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "net/signal.h"

namespace mete::store {

template <class Self, class Turn, class Loss = Error>
class Line {
 public:
  using Failure = Loss;

  // Calls that have not all of their answer.
  [[nodiscard]] std::size_t waiting() const { return turns_.size(); }
  // No further call may use it: it has failed, or somebody has waited for too long.
  [[nodiscard]] bool is_retired() const { return is_retired_ || failure_.has_value(); }
  void retire() { is_retired_ = true; }

 protected:
  Line() = default;
  Line(Line&&) noexcept = default;
  Line& operator=(Line&&) noexcept = default;
  ~Line() = default;

  // Whoever writes at the moment takes along what others add. A failure is told by await(): some of it may have left.
  void write(const net::Deadline& deadline) {
    if (is_writing_ || failure_) return;
    is_writing_ = true;
    net::let_others_go_first();
    const Result<void, Failure> written = self().write_added(deadline);
    is_writing_ = false;
    if (!written) fail(written.error());
  }

  // Until is_there(), which is about this turn.
  template <class IsThere>
  Result<void, Failure> await(Turn& turn, const net::Deadline& deadline, IsThere is_there) {
    while (!is_there()) {
      if (failure_) return *failure_;
      if (!is_reading_) {
        const auto done = read(deadline);
        if (!done && !is_there()) return done.error();
        continue;
      }
      NoLock none;
      const auto may_go_on = [&] { return is_there() || failure_ || !is_reading_; };
      if (!turn.changed.wait(none, deadline, may_go_on)) return self().no_answer(deadline);
    }
    return {};
  }

  void fail(const Failure& failure) {
    if (failure_) return;
    failure_ = failure;
    for (const auto& turn : turns_) turn->changed.notify_all();
  }

  std::deque<std::shared_ptr<Turn>> turns_;  // in the order of their sending
  std::optional<Failure> failure_;

 private:
  // The calls that use it are of one thread: nothing to lock.
  struct NoLock {
    void lock() {}
    void unlock() {}
  };

  Self& self() { return static_cast<Self&>(*this); }

  // For whoever it concerns. If it fails by the reader's deadline alone, the others go on.
  Result<void, Failure> read(const net::Deadline& deadline) {
    is_reading_ = true;
    Result<void, Failure> done = self().read_some(deadline);
    is_reading_ = false;
    if (!done && !deadline.is_over()) fail(done.error());
    // The first in the line who is waiting. Where nobody is, whoever comes to wait reads.
    const auto next = std::ranges::find_if(turns_, [](const auto& turn) { return turn->changed.is_awaited(); });
    if (next != turns_.end()) (*next)->changed.notify_all();
    return done;
  }

  bool is_writing_ = false;
  bool is_reading_ = false;
  bool is_retired_ = false;
};

}  // namespace mete::store
