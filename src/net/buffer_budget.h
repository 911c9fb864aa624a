// BufferBudget: how much memory the buffers of all connections may have together.
//
// Beyond that the largest are cut off, until there is some room again. What a connection keeps is told by its set when
// it has changed; small buffers are counted, and never looked for.
//
// Thread safety: every call from any thread; the functions that it is given must be so too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace mete::net {

class ConnectionSet;

class BufferBudget {
 public:
  // From this size on a connection can be cut off.
  static constexpr std::size_t kLarge = std::size_t{16} << 10;

  struct Victim {
    ConnectionSet* set;
    std::uint64_t connection;
    std::size_t bytes;
  };
  // `cut_off` closes the connection, soon: it may be called with locks held.
  explicit BufferBudget(std::function<void(const Victim&)> cut_off) : cut_off_(std::move(cut_off)) {}

  // 0: no ceiling.
  void set_max(std::size_t bytes_max) { bytes_max_ = bytes_max == 0 ? SIZE_MAX : bytes_max; }
  // A connection's buffers have grown or shrunk; at its end they are 0.
  void note(ConnectionSet& set, std::uint64_t connection, std::size_t before, std::size_t now);

  [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t cut_off() const { return cut_off_count_.load(std::memory_order_relaxed); }

 private:
  struct Large {
    ConnectionSet* set;
    std::size_t bytes;
    bool is_doomed;
  };

  void relieve();

  const std::function<void(const Victim&)> cut_off_;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> bytes_max_{SIZE_MAX};
  std::atomic<std::uint64_t> cut_off_count_{0};
  std::mutex mutex_;
  std::map<std::uint64_t, Large> large_;  // by the connection's id
};

}  // namespace mete::net
