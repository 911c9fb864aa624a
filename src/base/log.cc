#include "base/log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/time_text.h"

namespace mete::base {

namespace {

constexpr std::size_t kLevelWidth = 7;
constexpr std::string_view kHex = "0123456789abcdef";
// Of one value; clients choose some of them.
constexpr std::size_t kValueBytesMax = 4096;

std::string clock_text(Instant time) {
  const auto seconds = static_cast<std::time_t>(time.unix_seconds());
  std::tm civil{};
  ::localtime_r(&seconds, &civil);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &civil)};
}

// How many bytes at the front of `bytes` are one character of UTF-8 that may be printed: no control character (of
// ASCII or of the C1 set, which terminals obey too), no separator of lines or direction mark that would move others.
std::size_t printable_length(std::string_view bytes) {
  const auto at = [&](std::size_t index) {
    return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0U;
  };
  const unsigned lead = at(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  unsigned code = lead & (0xFFU >> (length + 1));
  for (std::size_t index = 1; index < length; ++index) {
    if ((at(index) & 0xC0U) != 0x80U) return 0;
    code = code << 6 | (at(index) & 0x3FU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_no_character = is_overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF;
  const bool is_control = code < 0xA0 || (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                          (code >= 0x2066 && code <= 0x2069);
  return is_no_character || is_control ? 0 : length;
}

// Both formats escape the same bytes. JSON cannot say single bytes: there they become the code point of that number,
// as if the text were Latin-1.
void append_escaped(std::string& line, std::string_view bytes, LogFormat format) {
  const bool is_cut = bytes.size() > kValueBytesMax;
  bytes = bytes.substr(0, kValueBytesMax);
  while (!bytes.empty()) {
    const std::size_t length = printable_length(bytes);
    const char first = bytes[0];
    // People read past a backslash, and messages have escaped what they quote.
    if (first == '"' || (first == '\\' && format == LogFormat::kJson)) line += '\\';
    if (length > 0) {
      line += bytes.substr(0, length);
    } else {
      const auto code = static_cast<unsigned char>(first);
      line += format == LogFormat::kJson ? "\\u00" : "\\x";
      line += kHex[code >> 4];
      line += kHex[code & 15U];
    }
    bytes.remove_prefix(length > 0 ? length : 1);
  }
  if (is_cut) line += "…";
}

void append_quoted(std::string& line, std::string_view bytes, LogFormat format) {
  line += '"';
  append_escaped(line, bytes, format);
  line += '"';
}

// Quotes only where the end of the value could not be seen otherwise.
void append_text_value(std::string& line, std::string_view text) {
  const bool is_plain = !text.empty() && text.find_first_of(" =\"") == std::string_view::npos;
  if (is_plain) {
    append_escaped(line, text, LogFormat::kText);
  } else {
    append_quoted(line, text, LogFormat::kText);
  }
}

void append_value(std::string& line, const LogField& field, LogFormat format) {
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    line += std::to_string(*number);
  } else if (const auto* flag = std::get_if<bool>(&field.value)) {
    line += *flag ? "true" : "false";
  } else if (format == LogFormat::kJson) {
    append_quoted(line, std::get<std::string_view>(field.value), format);
  } else {
    append_text_value(line, std::get<std::string_view>(field.value));
  }
}

std::string text_line(const LogEvent& event, LogFields fields) {
  std::string level(to_string(event.level));
  level.resize(kLevelWidth, ' ');
  std::string line = clock_text(event.time) + " " + level + " ";
  append_escaped(line, event.message, LogFormat::kText);
  for (const LogField& field : fields) {
    line += "  ";
    append_escaped(line, field.name, LogFormat::kText);
    line += '=';
    append_value(line, field, LogFormat::kText);
  }
  return line += '\n';
}

std::string json_line(const LogEvent& event, LogFields fields) {
  std::string line = R"({"time":")" + time_text(event.time) + R"(","level":")";
  line += to_string(event.level);
  line += R"(","message":)";
  append_quoted(line, event.message, LogFormat::kJson);
  for (const LogField& field : fields) {
    line += ',';
    append_quoted(line, field.name, LogFormat::kJson);
    line += ':';
    append_value(line, field, LogFormat::kJson);
  }
  return line += "}\n";
}

Instant wall_clock() {
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Instant::from_unix_seconds(static_cast<std::uint64_t>(now.tv_sec)) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::string_view to_string(LogLevel level) { return name_of(kLogLevelNames, level); }

std::optional<LogLevel> parse_log_level(std::string_view name) { return named<LogLevel>(kLogLevelNames, name); }

std::string format_line(LogFormat format, const LogEvent& event, LogFields fields) {
  return format == LogFormat::kJson ? json_line(event, fields) : text_line(event, fields);
}

// The lines that wait, and the thread that writes them.
//
// It writes only where the descriptor takes that at once, as far as can be known: then it can end however long nobody
// reads. A pipe that can be written takes PIPE_BUF bytes.
class Log::Writer {
 public:
  Writer(int descriptor, const std::atomic<LogFormat>& format) : descriptor_(descriptor), format_(format) {
    // Signals are for others.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    signal_.notify_one();
    thread_.join();
  }

  void add(std::string_view line) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() + line.size() > kWaitingMax) {
        ++dropped_;
        return;
      }
      waiting_ += line;
    }
    signal_.notify_one();
  }

 private:
  static constexpr int kLookEveryMs = 50;
  static constexpr int kLastLooks = 20;  // of a log that ends

  void run() {
    std::string lines;
    while (next(lines)) write(lines);
  }

  // The lines that have come meanwhile; false: there are none, and will be none.
  bool next(std::string& lines) {
    std::unique_lock lock(mutex_);
    signal_.wait(lock, [this] { return is_stopping_ || !waiting_.empty() || dropped_ > 0; });
    lines = std::exchange(waiting_, {});
    if (dropped_ > 0) {
      lines += format_line(format_, {wall_clock(), LogLevel::kWarning, "lines of the log were dropped: nobody read it"},
                           {{"lines", std::exchange(dropped_, 0)}});
    }
    return !lines.empty();
  }

  void write(std::string_view lines) {
    int looks_left = kLastLooks;
    while (!lines.empty()) {
      pollfd waiting{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      if (::poll(&waiting, 1, kLookEveryMs) == 0) {
        if (is_stopping() && --looks_left == 0) return;
        continue;
      }
      const std::string_view part = whole_lines(lines);
      const ssize_t written = ::write(descriptor_, part.data(), part.size());
      if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      // What cannot be written is left out.
      lines.remove_prefix(written < 0 ? part.size() : static_cast<std::size_t>(written));
    }
  }

  // As many as can be written at once; a part of one that is longer.
  static std::string_view whole_lines(std::string_view lines) {
    if (lines.size() <= PIPE_BUF) return lines;
    const std::size_t end = lines.rfind('\n', PIPE_BUF - 1);
    return lines.substr(0, end == std::string_view::npos ? PIPE_BUF : end + 1);
  }

  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
  }

  const int descriptor_;
  const std::atomic<LogFormat>& format_;
  std::mutex mutex_;
  std::condition_variable signal_;
  std::string waiting_;
  std::uint64_t dropped_ = 0;
  bool is_stopping_ = false;
  std::thread thread_;
};

Log::~Log() = default;

void Log::write_beside() { writer_ = std::make_unique<Writer>(descriptor_, format_); }

Log::Log(int descriptor, LogFormat format, LogLevel level_min)
    : descriptor_(descriptor), format_(format), level_min_(level_min) {}

void Log::set(LogFormat format, LogLevel level_min) {
  format_.store(format, std::memory_order_relaxed);
  level_min_.store(level_min, std::memory_order_relaxed);
}

void Log::write(LogLevel level, std::string_view message, LogFields fields) {
  if (is_enabled(level)) write_at({wall_clock(), level, message}, fields);
}

void Log::write_at(const LogEvent& event, LogFields fields) {
  if (!is_enabled(event.level)) return;
  const auto suppressed = admit(event);
  if (!suppressed) return;
  const LogFormat format = format_.load(std::memory_order_relaxed);
  std::string line = format_line(format, event, fields);
  if (*suppressed > 0) {
    const bool is_json = format == LogFormat::kJson;
    line.resize(line.size() - (is_json ? 2 : 1));
    line += is_json ? ",\"suppressed\":" : "  suppressed=";
    line += std::to_string(*suppressed) + (is_json ? "}\n" : "\n");
  }
  put(std::move(line));
}

void Log::put(std::string line) {
  if (writer_ != nullptr) {
    writer_->add(line);
  } else {
    [[maybe_unused]] const ssize_t ignored = ::write(descriptor_, line.data(), line.size());
  }
}

std::optional<std::uint32_t> Log::admit(const LogEvent& event) {
  const std::size_t hash = std::hash<std::string_view>{}(event.message);
  const std::uint64_t second = event.time.unix_seconds();
  const std::lock_guard lock(repeats_mutex_);
  Repeats& repeats = repeats_[hash % kSlots];
  if (repeats.hash != hash || repeats.second != second) {
    const std::uint32_t suppressed = repeats.hash == hash ? repeats.suppressed : 0;
    repeats = {.hash = hash, .second = second, .written = 1, .suppressed = 0};
    return suppressed;
  }
  if (repeats.written == kRepeatsMax) {
    ++repeats.suppressed;
    return std::nullopt;
  }
  ++repeats.written;
  return 0;
}

}  // namespace mete::base
