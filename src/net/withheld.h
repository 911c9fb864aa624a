// Withheld: answers that must not leave yet, in their order, and what each of them waits for.
//
// An answer behind one that waits waits as well. Empty, it has no memory.
//
// Thread safety: on its connection's loop alone.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/output.h"
#include "net/session.h"

namespace mete::net {

class Withheld {
 public:
  [[nodiscard]] bool empty() const { return marks_.empty(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::size_t capacity() const { return bytes_.capacity(); }

  // Ticket 0: only for what stands before it.
  void add(std::string_view bytes, Ticket ticket);
  // Moves what has waited for tickets up to `reached` to the end of `output`.
  void release(Ticket reached, base::Output& output);
  void clear();

 private:
  struct Mark {
    Ticket ticket;    // never less than the one before it
    std::size_t end;  // where its bytes end
  };

  base::Output bytes_;
  std::vector<Mark> marks_;
};

}  // namespace mete::net
