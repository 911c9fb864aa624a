// Log: what happens in the server, one line per event.
//
//     log.info("listening", {{"resp", "127.0.0.1:6380"}});
//
//     12:03:04 info    listening  resp=127.0.0.1:6380                                       for people, local time
//     {"time":"2026-11-15T11:03:04.123Z","level":"info","message":"listening","resp":"…"}   for programs, UTC
//
// A line stays a line, whatever the values are: control bytes and what is not UTF-8 are escaped. Each line is one
// write(2), and one that fails (full disk, closed pipe) is ignored: a server does not stop for its log. (For the closed
// pipe the process must ignore SIGPIPE.) Nor does it wait for whoever reads it: after write_beside(), lines are kept in
// a buffer of kWaitingMax bytes and written by a thread. What does not fit is dropped, and the log says how much that
// was.
//
// Of lines with the same message only kRepeatsMax are written in a second; the next one after that second says in the
// field "suppressed" how many were left out. Messages are therefore constants, and what varies goes into fields.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/time.h>

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace mete::base {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : std::uint8_t { kText, kJson };

inline constexpr std::string_view kLogLevelNames = "debug|info|warning|error";
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view name);

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, bool> value;

  LogField(std::string_view field, std::string_view text) : name(field), value(text) {}
  LogField(std::string_view field, const char* text) : name(field), value(std::string_view(text)) {}
  LogField(std::string_view field, const std::string& text) : name(field), value(std::string_view(text)) {}
  template <std::integral Number>
  LogField(std::string_view field, Number number) : name(field) {
    if constexpr (std::same_as<Number, bool>) {
      value = number;
    } else {
      value = static_cast<std::int64_t>(number);
    }
  }
};
using LogFields = std::initializer_list<LogField>;

// The line as it is written, with its line feed. Pure: for tests, and for whoever writes elsewhere.
struct LogEvent {
  Instant time;
  LogLevel level = LogLevel::kInfo;
  std::string_view message;
};
std::string format_line(LogFormat format, const LogEvent& event, LogFields fields);

class Log {
 public:
  static constexpr std::uint32_t kRepeatsMax = 10;
  static constexpr std::size_t kWaitingMax = std::size_t{1} << 20;

  // Does not own the descriptor.
  explicit Log(int descriptor, LogFormat format = LogFormat::kText, LogLevel level_min = LogLevel::kInfo);

  // What is written beside has a second to be read.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Once, before other threads write.
  void write_beside();

  void set(LogFormat format, LogLevel level_min);
  [[nodiscard]] bool is_enabled(LogLevel level) const { return level >= level_min_.load(std::memory_order_relaxed); }

  void debug(std::string_view message, LogFields fields = {}) { write(LogLevel::kDebug, message, fields); }
  void info(std::string_view message, LogFields fields = {}) { write(LogLevel::kInfo, message, fields); }
  void warning(std::string_view message, LogFields fields = {}) { write(LogLevel::kWarning, message, fields); }
  void error(std::string_view message, LogFields fields = {}) { write(LogLevel::kError, message, fields); }

  void write(LogLevel level, std::string_view message, LogFields fields);
  // The same at a time that is given; for tests.
  void write_at(const LogEvent& event, LogFields fields);

 private:
  // Two messages that share a slot take it from each other, and then neither is held back: a small table will do.
  struct Repeats {
    std::size_t hash = 0;
    std::uint64_t second = 0;
    std::uint32_t written = 0;
    std::uint32_t suppressed = 0;
  };
  static constexpr std::size_t kSlots = 64;

  class Writer;

  void put(std::string line);
  // How many lines of the message were left out before this one; none if this one is left out too.
  std::optional<std::uint32_t> admit(const LogEvent& event);

  const int descriptor_;
  std::atomic<LogFormat> format_;
  std::atomic<LogLevel> level_min_;
  std::mutex repeats_mutex_;
  std::array<Repeats, kSlots> repeats_{};
  std::unique_ptr<Writer> writer_;
};

}  // namespace mete::base
