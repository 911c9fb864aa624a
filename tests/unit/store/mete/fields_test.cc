#include "store/mete/fields.h"

#include <gtest/gtest.h>

#include "server/doors/resp/commands/store_messages.h"
#include "store/mete/call.h"
#include "store/mete/replies.h"

namespace mete::store::servers {
namespace {

// A message as words, and back.
template <class Message>
std::vector<std::string> words_of(const Message& message) {
  struct Sink {
    void integer(std::int64_t number) { words.push_back(std::to_string(number)); }
    void text(std::string_view bytes) { words.emplace_back(bytes); }
    std::vector<std::string> words;
  } sink;
  FieldWriter<Sink> writer(sink);
  writer(message);
  return sink.words;
}

template <class Message>
std::optional<Message> message_of(std::span<const std::string> words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  FieldReader<server::WordSource> reader{server::WordSource(views)};
  Message message;
  reader(message);
  return reader.is_whole() ? std::optional(std::move(message)) : std::nullopt;
}

std::vector<Limit> some_limits() {
  using namespace std::chrono_literals;
  return {
      bucket("a").amount(3).per(Duration::from_ns(1'000'001)).burst(9).on_fail(OnFail::kOpen),
      window("b").amount(kAmountMax).per(24h * 3653).durable(Durable::kNever).shadow(),
      sliding("c").amount(1).per(1ms).scope(Scope::kShared),
      calendar("d").amount(5).per(Unit::kYear).zone("Europe/Berlin").anchor(month_day(4, 6)),
      stock("").amount(-1),  // what is wrong with it is for the server to say
  };
}

TEST(Fields, EveryLimitArrivesAsItWas) {
  for (const Limit& limit : some_limits()) {
    const auto words = words_of(LimitMessage(limit));
    EXPECT_EQ(words.size(), count_fields(LimitMessage(limit)));
    const auto back = message_of<LimitMessage>(words);
    ASSERT_TRUE(back.has_value()) << limit.name();
    EXPECT_EQ(back->limit(), limit);
  }
}

TEST(Fields, NumbersArriveToTheirEnds) {
  const core::Verdict verdict{.is_allowed = true,
                              .violated = 0xffff,
                              .taken = kAmountMax,
                              .remaining = std::numeric_limits<std::int64_t>::min(),
                              .limit = std::numeric_limits<std::int64_t>::max(),
                              .retry_after = Duration::never(),
                              .reset_after = Duration::from_ns(-1)};
  EXPECT_EQ(message_of<core::Verdict>(words_of(verdict)), verdict);
  for (const Instant at : {Instant(), Instant::from_ns(1), Instant::max()}) {
    EXPECT_EQ(message_of<Instant>(words_of(at)), at);
  }
}

// A message that lacks a word, has one too many, or a number that it cannot have, is none.
TEST(Fields, WhatIsNotWholeIsRefused) {
  const Charge charges[] = {{"api", "alice", 2}, {"api", "bob", 1}};
  const auto words = words_of(TakeMessage({.charges = charges, .mode = Mode::kForce, .id = "i"}));
  ASSERT_TRUE(message_of<TakeMessage>(words).has_value());
  for (std::size_t count = 0; count < words.size(); ++count) {
    EXPECT_FALSE(message_of<TakeMessage>(std::span(words).first(count)).has_value()) << count << " words";
  }
  auto longer = words;
  longer.emplace_back("1");
  EXPECT_FALSE(message_of<TakeMessage>(longer).has_value());
  const struct {
    std::size_t place;
    std::string word;
  } rows[] = {
      {0, "4"},
      {0, "-1"},
      {0, ""},
      {0, "x"},  // no such mode
      {1, "2"},
      {2, "-1"},  // neither true nor false
      {4, "3"},
      {4, "1"},
      {4, "-1"},  // another number of charges
      {4, "9223372036854775807"},
      {7, "1.5"},  // and amounts
  };
  for (const auto& row : rows) {
    auto bad = words;
    bad[row.place] = row.word;
    EXPECT_FALSE(message_of<TakeMessage>(bad).has_value()) << row.place << " is " << row.word;
  }
}

TEST(PeerErrors, AreWhatTheStoreThereSaid) {
  const net::Address server{.host = "h", .port = 1, .path = {}};
  const struct {
    std::string_view text;
    ErrorCode code;
    std::string_view message;
  } rows[] = {
      {"NOLIMIT unknown limit 'x'", ErrorCode::kNoLimit, "unknown limit 'x'"},
      {"NOHOLD no hold 'x'", ErrorCode::kNoHold, "no hold 'x'"},
      {"EXPIRED it was", ErrorCode::kExpired, "it was"},
      {"EXCEEDS more", ErrorCode::kExceeds, "more"},
      {"MISMATCH other", ErrorCode::kMismatch, "other"},
      {"WRONGTYPE of key", ErrorCode::kWrongType, "of key"},
      {"OOM full", ErrorCode::kOutOfMemory, "full"},
      {"UNAVAILABLE the disk", ErrorCode::kUnavailable, "the disk"},
      {"ERR cost must be", ErrorCode::kInvalid, "cost must be"},
      {"ERR unknown command 'STORE'", ErrorCode::kInvalid,
       "h:1 is no Mete server, or one of an earlier version: it knows no STORE commands"},
      {"NOAUTH Authentication required.", ErrorCode::kInvalid,
       "h:1 refused: NOAUTH Authentication required.; put its password into the URL: mete://:password@host:port"},
      {"LOADING soon", ErrorCode::kUnavailable, "h:1 answers: \"LOADING soon\""},
      {"", ErrorCode::kUnavailable, "h:1 answers: \"\""},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of(row.text, server), (Error{row.code, std::string(row.message)}));
}

}  // namespace
}  // namespace mete::store::servers
