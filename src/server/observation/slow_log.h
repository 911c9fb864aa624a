// SlowLog: the last commands that took long.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mete::server {

struct SlowCommand {
  std::uint64_t id = 0;
  std::uint64_t unix_seconds = 0;
  std::int64_t microseconds = 0;
  std::vector<std::string> words;  // cut short
  std::string client_address;
  std::string client_name;
};

class SlowLog {
 public:
  void add(SlowCommand command);
  // The latest first.
  [[nodiscard]] std::vector<SlowCommand> latest(std::size_t count_max) const;
  [[nodiscard]] std::size_t size() const;
  void reset();

 private:
  static constexpr std::size_t kEntriesMax = 128;

  mutable std::mutex mutex_;
  std::deque<SlowCommand> entries_;
  std::uint64_t next_id_ = 0;
};

// The words of a command as the log keeps them: at most 32, of at most 128 bytes.
std::vector<std::string> shorten(std::span<const std::string_view> words);

}  // namespace mete::server
