// Scripts of a Redis, and whether a node has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace mete::store::redis {

// A Lua script. Its digest names it in Redis, so that different versions of a program may use one Redis side by side,
// each with its own scripts.
class Script {
 public:
  // `text` outlives the script.
  explicit Script(std::string_view text);

  // As EVAL and SCRIPT LOAD take it.
  [[nodiscard]] std::string_view text() const { return text_; }
  // SHA-1 of the text, in hexadecimal: what EVALSHA takes.
  [[nodiscard]] std::string_view digest() const { return digest_; }

 private:
  std::string_view text_;
  std::string digest_;
};

// ScriptState: whether a node has the scripts, and who loads them: one thread, however many find out that they are
// missing.
//
// A call notes loads() before it sends anything. If it hears NOSCRIPT, the scripts were missing at that time: it loads
// them only if nobody has done so since, and nobody is about to. Thread safety: every call from any thread.
class ScriptState {
 public:
  [[nodiscard]] std::uint64_t loads() const { return loads_.load(std::memory_order_acquire); }
  [[nodiscard]] bool are_loaded() const { return are_loaded_.load(std::memory_order_relaxed); }

  // Whether the caller is to load them: it must say finished() then.
  [[nodiscard]] bool begin(std::uint64_t loads_noted);
  void finished(bool with_success);
  // A connection was lost: perhaps the node was started anew.
  void doubt() { are_loaded_.store(false, std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  bool is_loading_ = false;
  std::atomic<bool> are_loaded_ = false;
  std::atomic<std::uint64_t> loads_ = 0;
};

}  // namespace mete::store::redis
