#include "server/observation/slow_log.h"

#include <algorithm>
#include <utility>

namespace mete::server {

namespace {

constexpr std::size_t kWordsMax = 32;
constexpr std::size_t kWordBytesMax = 128;

}  // namespace

void SlowLog::add(SlowCommand command) {
  const std::lock_guard lock(mutex_);
  command.id = next_id_++;
  entries_.push_front(std::move(command));
  if (entries_.size() > kEntriesMax) entries_.pop_back();
}

std::vector<SlowCommand> SlowLog::latest(std::size_t count_max) const {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(count_max, entries_.size()));
  return {entries_.begin(), entries_.begin() + count};
}

std::size_t SlowLog::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void SlowLog::reset() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::vector<std::string> shorten(std::span<const std::string_view> words) {
  std::vector<std::string> kept;
  for (const std::string_view word : words.first(std::min(words.size(), kWordsMax))) {
    std::string& copy = kept.emplace_back(word.substr(0, kWordBytesMax));
    if (word.size() > kWordBytesMax) copy += "... (" + std::to_string(word.size() - kWordBytesMax) + " more bytes)";
  }
  if (words.size() > kWordsMax)
    kept.back() = "... (" + std::to_string(words.size() - kWordsMax + 1) + " more arguments)";
  return kept;
}

}  // namespace mete::server
