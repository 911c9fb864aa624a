// The function library in Redis 7: what any client calls without a Mete server in between (lua/library.lua,
// docs/redis.md). It is one library, `mete`, that is replaced as a whole.
//
//     auto link = open_link("redis://127.0.0.1").value();
//     Library library(*link);
//     auto before = library.installed().value();      // none: nothing is installed
//     library.install().value();
//
// Ownership: borrows the link. Thread safety: as the link's.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <optional>
#include <string>

#include "store/redis/client/link.h"

namespace mete::store::redis {

class Library {
 public:
  // Goes up with whatever changes in the scripts that it is made of, or in what they write.
  static constexpr std::int64_t kVersion = 3;

  explicit Library(Link& link) : link_(link) {}

  struct Installed {
    std::int64_t version = 0;
    bool is_as_here = false;  // to the letter; one of this version that is not was changed by somebody
  };
  // An error where a Redis has no functions, or is a Cluster: there the limits lie on one node and the meters on all.
  Result<std::optional<Installed>> installed();
  // In the place of what is there, if anything. A later version than this program's is left alone, with an error.
  Result<void> install();
  Result<void> remove();

  // As FUNCTION LOAD takes it.
  static std::string text();

 private:
  Result<wire::RespValue> run(std::initializer_list<std::string_view> words);

  Link& link_;
};

}  // namespace mete::store::redis
