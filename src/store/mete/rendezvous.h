// Rendezvous: which of several servers a key is at. Pure.
//
// Every server bids for every key: a hash of its name and the key. The highest bid has it. So whoever knows the names
// finds the same server, in whatever order they stand; and a server that is added takes from each of the others no more
// than its own share, as one that goes leaves the keys of the others where they are.
//
// What is hashed of a key is its hash tag, if it has one (hash_tag.h): keys with the same tag are at the same server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mete::store::servers {

class Rendezvous {
 public:
  // One name at least, each once.
  explicit Rendezvous(std::span<const std::string> names);

  // The number of the server, in the order of the names.
  [[nodiscard]] std::size_t owner_of(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return seeds_.size(); }

 private:
  std::vector<std::uint64_t> seeds_;
};

}  // namespace mete::store::servers
