// Batch: commands for Redis, written as RESP as they are added, so that they leave in one write.
//
// It is used again and again: clear() keeps the memory. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/client/scripts.h"

namespace mete::store::redis {

class Batch {
 public:
  // Adds a command. `routing_key`: a key of the command, which tells the node in a Cluster (by its hash tag, if it has
  // one); empty: any node.
  void add(std::string_view routing_key, std::span<const std::string_view> words);
  void add(std::string_view routing_key, std::initializer_list<std::string_view> words) {
    add(routing_key, std::span(words.begin(), words.size()));
  }
  // Adds a call of a script: EVALSHA; the link answers NOSCRIPT itself, by EVAL. `words`: the keys, then the arguments.
  void add_script(std::string_view routing_key, const Script& script, std::size_t keys,
                  std::span<const std::string_view> words);

  void clear();
  [[nodiscard]] std::size_t size() const { return commands_.size(); }
  [[nodiscard]] bool empty() const { return commands_.empty(); }

  // For links.
  struct Command {
    std::size_t begin = 0;  // its bytes in bytes()
    std::size_t end = 0;
    std::uint16_t slot = 0;          // of the Cluster's 16,384; kAnySlot for any node
    std::size_t rest = 0;            // of a script: where its words begin, behind EVALSHA and the digest; else 0
    const Script* script = nullptr;  // if rest is not 0; it outlives the batch
    std::size_t word_count = 0;      // in all
  };
  static constexpr std::uint16_t kAnySlot = 0xffff;
  [[nodiscard]] const Command& command(std::size_t index) const { return commands_[index]; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

  // The keys of a command, for an error that names them: of a script all, of another command its first word.
  [[nodiscard]] std::string keys(std::size_t index) const;

 private:
  std::string bytes_;
  std::vector<Command> commands_;
};

// For links: a call of a script with its whole text, for a server that does not know the digest.
void append_eval(std::string& output, const Batch& batch, const Batch::Command& command);

// The slot of a key in a Cluster: of its hash tag, if it has one.
std::uint16_t slot_of(std::string_view key);

}  // namespace mete::store::redis
