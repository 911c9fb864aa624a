// open(): what a URL and its options may be, and the store that comes of it.
#include <gtest/gtest.h>
#include <mete/mete.h>

#include <utility>

namespace mete {
namespace {

using namespace std::chrono_literals;

void expect_refused(const Result<Limiter>& result, std::string_view word) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
}

TEST(Open, RefusesUrlsItHasNoStoreFor) {
  for (const std::string_view url : {"", "embedded", "EMBEDDED:", " embedded:", "nonsense", ":"}) {
    SCOPED_TRACE(url);
    expect_refused(open(url), "url");
    expect_refused(open(url), "embedded:");
  }
  expect_refused(open("memcached://host"), "memcached://host");
  expect_refused(open("redis://host:port"), "port");
  expect_refused(open("redis+sentinel://host:1"), "master");
}

TEST(Open, RefusesOptionsOutOfRange) {
  const struct {
    Options options;
    std::string_view word;
  } rows[] = {
      {{.max_memory = 1}, "max_memory"},
      {{.max_memory = (std::size_t{4} << 20) - 1}, "max_memory"},
      {{.id_retention = 0s}, "id_retention"},
      {{.id_retention = -1s}, "id_retention"},
      {{.id_retention = kPeriodMax + Duration(1ns)}, "id_retention"},
      {{.ids_max = 0}, "ids_max"},
  };
  for (const auto& row : rows) expect_refused(open("embedded:", row.options), row.word);
}

TEST(Open, AcceptsTheEdges) {
  const Options rows[] = {
      {}, {.max_memory = std::size_t{4} << 20}, {.id_retention = 1ns}, {.id_retention = kPeriodMax}, {.ids_max = 1}};
  for (const Options& options : rows) {
    Limiter limiter = open("embedded:", options).value();
    limiter.define(stock("credits").amount(10)).value();
    EXPECT_TRUE(limiter.take("credits", "a", 10).value().allowed());
  }
}

TEST(Open, OptionsReachTheStore) {
  const ManualClock clock(Instant::from_unix_seconds(1'700'000'000));
  Limiter limiter = open("embedded:", {.clock = &clock, .max_memory = std::size_t{4} << 20, .ids_max = 2}).value();
  limiter.define(stock("credits").amount(10)).value();
  limiter.take({{"credits", "a", 1}}, {.id = "first"}).value();
  limiter.take({{"credits", "a", 1}}, {.id = "second"}).value();
  EXPECT_EQ(limiter.take({{"credits", "a", 1}}, {.id = "third"}).error().code, ErrorCode::kOutOfMemory);
  int keys = 0;
  while (limiter.take("credits", "key" + std::to_string(keys)).has_value()) ++keys;
  EXPECT_GT(keys, 1000);
  EXPECT_TRUE(limiter.take("credits", "key0").value().allowed());
}

TEST(Open, WithoutAClockTimeIsTheSystems) {
  Limiter limiter = open("embedded:").value();
  limiter.define(calendar("hourly").amount(10).per(Unit::kHour)).value();
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  const Duration reset = limiter.take("hourly", "a").value().reset_after;
  const auto since_hour = std::chrono::duration_cast<std::chrono::nanoseconds>(before % 1h);
  const std::int64_t expected = std::chrono::nanoseconds(1h).count() - since_hour.count();
  // Generous: a minute either way, also around the full hour.
  const std::int64_t distance = std::abs(reset.ns() - expected);
  EXPECT_TRUE(distance < Duration(1min).ns() || distance > Duration(59min).ns()) << reset.ns() << " and " << expected;
}

TEST(Open, ALimiterIsMoved) {
  Limiter first = open("embedded:").value();
  first.define(stock("credits").amount(10)).value();
  first.take("credits", "a", 4).value();
  Limiter second = std::move(first);
  EXPECT_EQ(second.usage("credits", "a").value().used, 4);
  second = open("embedded:").value();
  EXPECT_EQ(second.usage("credits", "a").error().code, ErrorCode::kNoLimit) << "each store is its own";
}

TEST(Open, ValueOnAnErrorThrows) { EXPECT_THROW(open("nonsense").value(), Failure); }

}  // namespace
}  // namespace mete
