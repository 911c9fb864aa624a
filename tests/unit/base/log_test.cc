#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace mete::base {
namespace {

constexpr Instant kNoon = Instant::from_unix_seconds(1'794'744'184);  // 2026-11-15T12:03:04Z

// A pipe, and what was written into it.
class Captured {
 public:
  Captured() { EXPECT_EQ(::pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0); }
  ~Captured() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  [[nodiscard]] int descriptor() const { return ends_[1]; }
  std::string text() {
    std::string all;
    char part[65'536];
    ssize_t count = 0;
    while ((count = ::read(ends_[0], part, sizeof part)) > 0) all.append(part, static_cast<std::size_t>(count));
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

std::string json_of(std::string_view value) {
  return format_line(LogFormat::kJson, {kNoon, LogLevel::kInfo, "m"}, {{"v", value}});
}

TEST(LogLine, HasTimeLevelMessageAndFields) {
  const LogFields fields = {{"resp", "127.0.0.1:6380"}, {"tls", false}, {"connections", 3}, {"why", "two words"}};
  EXPECT_EQ(
      format_line(LogFormat::kJson, {kNoon + std::chrono::milliseconds(7), LogLevel::kWarning, "it \"is\""}, fields),
      R"({"time":"2026-11-15T12:03:04.007Z","level":"warning","message":"it \"is\"","resp":"127.0.0.1:6380",)"
      R"("tls":false,"connections":3,"why":"two words"})"
      "\n");
  // The hour is local, so that only what follows the clock can be compared.
  const std::string text = format_line(LogFormat::kText, {kNoon, LogLevel::kInfo, "listening"}, fields);
  EXPECT_EQ(text.substr(8), " info    listening  resp=127.0.0.1:6380  tls=false  connections=3  why=\"two words\"\n");
  EXPECT_EQ(text.substr(2, 1) + text.substr(5, 3), "::04");
}

TEST(LogLine, EscapesWhatCouldBreakTheLineOrTheTerminal) {
  const struct {
    std::string_view value;
    std::string_view json;
    std::string_view text;
  } rows[] = {
      {"", R"("")", R"("")"},
      {"a=b", R"("a=b")", R"("a=b")"},
      {"a\nb", R"("a\u000ab")", R"(a\x0ab)"},
      {"\x1b[31m", R"("\u001b[31m")", R"(\x1b[31m)"},
      {"\x7f", R"("\u007f")", R"(\x7f)"},
      {std::string_view("\0", 1), R"("\u0000")", R"(\x00)"},
      {"\"\\", R"("\"\\")", R"("\"\")"},
      {R"(saw '\n')", R"("saw '\\n'")", R"("saw '\n'")"},  // as messages quote what they found
      {R"(a\b)", R"("a\\b")", R"(a\b)"},
      {"größe €", R"("größe €")", R"("größe €")"},
      {"😀", R"("😀")", R"(😀)"},
      {"\xff", R"("\u00ff")", R"(\xff)"},
      {"\xc3", R"("\u00c3")", R"(\xc3)"},
      {"\xc0\xaf", R"("\u00c0\u00af")", R"(\xc0\xaf)"},                // overlong
      {"\xed\xa0\x80", R"("\u00ed\u00a0\u0080")", R"(\xed\xa0\x80)"},  // a surrogate
      {"\xc2\x9b", R"("\u00c2\u009b")", R"(\xc2\x9b)"},                // CSI of the C1 set
      {"\u2028", R"("\u00e2\u0080\u00a8")", R"(\xe2\x80\xa8)"},        // a separator of lines
      // What turns the direction around. NOLINTNEXTLINE(misc-misleading-bidirectional): that is what is tested
      {"\u202e", R"("\u00e2\u0080\u00ae")", R"(\xe2\x80\xae)"},
  };
  for (const auto& row : rows) {
    const std::string json = json_of(row.value);
    EXPECT_EQ(json.substr(json.find("\"v\":") + 4), std::string(row.json) + "}\n");
    const std::string text = format_line(LogFormat::kText, {kNoon, LogLevel::kInfo, "m"}, {{"v", row.value}});
    EXPECT_EQ(text.substr(text.find("  v=") + 4), std::string(row.text) + "\n");
  }
}

TEST(LogLine, AnyByteLeavesOneLine) {
  for (int first = 0; first < 256; ++first) {
    const char bytes[] = {static_cast<char>(first), '\n', static_cast<char>(255 - first)};
    const std::string_view value(bytes, sizeof bytes);
    for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
      const std::string line = format_line(format, {kNoon, LogLevel::kInfo, value}, {{value, value}});
      EXPECT_EQ(line.find('\n'), line.size() - 1);
    }
  }
}

TEST(LogLine, LongValuesAreCut) {
  EXPECT_LT(json_of(std::string(1'000'000, 'x')).size(), 5000U);
  EXPECT_NE(json_of(std::string(1'000'000, 'x')).find("x…\""), std::string::npos);
}

TEST(Log, WritesFromItsLevelOn) {
  Captured captured;
  Log log(captured.descriptor(), LogFormat::kJson, LogLevel::kWarning);
  log.info("no");
  log.warning("yes");
  EXPECT_FALSE(log.is_enabled(LogLevel::kInfo));
  const std::string lines = captured.text();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  EXPECT_NE(lines.find("\"yes\""), std::string::npos);

  log.set(LogFormat::kText, LogLevel::kDebug);
  log.debug("now");
  EXPECT_NE(captured.text().find(" debug   now\n"), std::string::npos);
}

TEST(Log, HoldsRepeatedMessagesBackAndCountsThem) {
  Captured captured;
  Log log(captured.descriptor(), LogFormat::kText, LogLevel::kInfo);
  for (int count = 0; count < 25; ++count) log.write_at({kNoon, LogLevel::kError, "accept failed"}, {{"n", count}});
  log.write_at({kNoon, LogLevel::kError, "another"}, {});
  std::string lines = captured.text();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), Log::kRepeatsMax + 1);
  EXPECT_NE(lines.find("another\n"), std::string::npos);

  const Instant later = kNoon + std::chrono::seconds(1);
  log.write_at({later, LogLevel::kError, "accept failed"}, {{"n", 25}});
  log.write_at({later, LogLevel::kError, "accept failed"}, {{"n", 26}});
  lines = captured.text();
  EXPECT_NE(lines.find("n=25  suppressed=15\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("n=26\n"), std::string::npos) << lines;

  log.set(LogFormat::kJson, LogLevel::kInfo);
  for (int count = 0; count < 12; ++count) log.write_at({later, LogLevel::kError, "json"}, {});
  captured.text();
  log.write_at({later + std::chrono::seconds(5), LogLevel::kError, "json"}, {});
  EXPECT_NE(captured.text().find(R"("message":"json","suppressed":2})"), std::string::npos);
}

TEST(Log, WaitsForNobodyWhoReadsItAndTellsWhatItDropped) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  std::string read;
  std::promise<void> is_told;
  std::thread reader;
  {
    Log log(ends[1], LogFormat::kJson, LogLevel::kInfo);
    log.write_beside();
    // More than the pipe and the buffer hold, by a megabyte; each message is another, so that none is held back.
    const std::string filler(1000, 'x');
    for (int count = 0; count < 4000; ++count) log.info("line " + std::to_string(count), {{"filler", filler}});
    // Somebody reads on at last, up to the end.
    reader = std::thread([&] {
      std::array<char, 65536> bytes{};
      bool was_told = false;
      for (ssize_t got = 0; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
        read.append(bytes.data(), static_cast<std::size_t>(got));
        if (!was_told && read.find("were dropped") != std::string::npos) {
          was_told = true;
          is_told.set_value();
        }
      }
    });
    is_told.get_future().wait();
    log.info("after it");
  }
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_NE(read.find("\"after it\""), std::string::npos);
  // All are accounted for: those that were written, but for those that tell and the one after it; and the dropped.
  const std::string_view tells = "\"lines\":";
  std::int64_t accounted = std::count(read.begin(), read.end(), '\n') - 1;
  for (std::size_t at = 0; (at = read.find(tells, at)) != std::string::npos; at += tells.size()) {
    accounted += std::stoi(read.substr(at + tells.size())) - 1;
  }
  EXPECT_EQ(accounted, 4000);
}

TEST(Log, EndsThoughNobodyReadsIt) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  {
    Log log(ends[1], LogFormat::kJson, LogLevel::kInfo);
    log.write_beside();
    for (int count = 0; count < 200; ++count)
      log.info("line " + std::to_string(count), {{"filler", std::string(1000, 'x')}});
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Log, LinesOfManyThreadsStayWhole) {
  Captured captured;
  Log log(captured.descriptor(), LogFormat::kJson, LogLevel::kInfo);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&log, thread] {
      for (int count = 0; count < 8; ++count)
        log.info("thread " + std::to_string(thread), {{"filler", std::string(200, 'x')}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string lines = captured.text();
  std::size_t start = 0;
  int count = 0;
  for (std::size_t end = 0; (end = lines.find('\n', start)) != std::string::npos; start = end + 1, ++count) {
    EXPECT_EQ(lines.substr(start, 9), R"({"time":")");
    EXPECT_EQ(lines.substr(end - 3, 3), R"(x"})");
  }
  EXPECT_EQ(count, 32);
}

TEST(Log, AFailingWriteIsIgnored) {
  Log nowhere(-1);
  nowhere.error("lost");
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  Log broken(ends[1]);
  broken.error("lost");
  ::close(ends[1]);
  std::signal(SIGPIPE, SIG_DFL);
}

TEST(LogLevel, HasANameBothWays) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    EXPECT_EQ(parse_log_level(to_string(level)), level);
  }
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace mete::base
