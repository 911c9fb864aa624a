// Strand: a function that waits without keeping its thread. The fibers of net/fiber.h are strands; what waits for
// another thread and may run on one of them needs no more than this, and so no network.
#pragma once

#include <cstdint>

namespace mete::base {

class Strand {
 public:
  Strand() = default;
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;
  virtual ~Strand() = default;

  // The one that this is; null: a plain thread, which blocks where it waits.
  static Strand* current() { return current_; }

  // Begins a wait, and returns its number. The strand must go on to rest().
  virtual std::uint64_t begin_wait() = 0;
  // Until somebody ends the wait.
  virtual void rest() = 0;
  // From any thread. A wait that is over is not ended again.
  virtual void end_wait_soon(std::uint64_t wait) = 0;

 protected:
  // NOLINTNEXTLINE(readability-identifier-naming): a member
  inline static thread_local Strand* current_ = nullptr;
};

}  // namespace mete::base
