#include "core/operation_fields.h"

#include <gtest/gtest.h>

#include <charconv>

namespace mete::core {
namespace {

using namespace std::chrono_literals;

// A value as words, and back.
template <class Value>
std::vector<std::string> words_of(const Value& value) {
  struct Sink {
    void integer(std::int64_t number) { words.push_back(std::to_string(number)); }
    void text(std::string_view bytes) { words.emplace_back(bytes); }
    std::vector<std::string> words;
  } sink;
  FieldWriter<Sink> writer(sink);
  writer(value);
  EXPECT_EQ(sink.words.size(), count_fields(value));
  return sink.words;
}

class WordSource {
 public:
  explicit WordSource(std::span<const std::string> words) : words_(words) {}

  std::optional<std::int64_t> integer() {
    const auto word = text();
    std::int64_t number = 0;
    if (!word) return std::nullopt;
    const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), number);
    const bool is_whole = error == std::errc() && end == word->data() + word->size();
    return is_whole ? std::optional(number) : std::nullopt;
  }
  std::optional<std::string_view> text() {
    if (words_.empty()) return std::nullopt;
    const std::string_view word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  [[nodiscard]] std::size_t left() const { return words_.size(); }

 private:
  std::span<const std::string> words_;
};

// Its lists are in the memory of the last call.
template <class Value>
std::optional<Value> message_of(std::span<const std::string> words) {
  static std::pmr::monotonic_buffer_resource memory;
  FieldReader<WordSource> reader(WordSource(words), &memory);
  Value value{};
  reader(value);
  return reader.is_whole() ? std::optional(std::move(value)) : std::nullopt;
}

template <class Value>
std::string line_of(const Value& value) {
  std::string line;
  for (const std::string& word : words_of(value)) line += (line.empty() ? "" : " ") + (word.empty() ? "-" : word);
  return line;
}

// As servers of this version say it: whoever changes a line here speaks another language.
TEST(OperationFields, AreInTheOrderOfTheFormat) {
  const Charge charges[] = {{"api", "alice", 2}, {"mail", "bob", 1}};
  const Amount amounts[] = {3, 4};
  Usage usages[2];
  const MeterName meter{"api", "alice"};
  EXPECT_EQ(line_of(Take{.charges = charges, .mode = Mode::kUpTo, .id = "i", .usages = usages}),
            "2 1 1 i 2 api alice 2 mail bob 1");
  EXPECT_EQ(line_of(Take{.charges = {charges, 1}, .remembers_denial = false}), "0 0 0 - 1 api alice 2");
  EXPECT_EQ(line_of(Recall{{.charges = {charges, 1}, .id = "i"}}), "0 1 0 i 1 api alice 2");
  EXPECT_EQ(line_of(Give{charges, "i"}), "i 2 api alice 2 mail bob 1");
  EXPECT_EQ(line_of(Hold{.charges = {charges, 1}, .ttl = 1s, .id = "i", .is_id_random = true, .tag = "t"}),
            "1000000000 1 0 i t 1 api alice 2");
  EXPECT_EQ(line_of(Commit{"i", amounts, true}), "i 2 3 4 1");
  EXPECT_EQ(line_of(Cancel{"i"}), "i");
  EXPECT_EQ(line_of(Extend{"i", 2s}), "i 2000000000");
  EXPECT_EQ(line_of(FindHold{"i"}), "i");
  EXPECT_EQ(line_of(ListHolds{meter, 9}), "api alice 9");
  EXPECT_EQ(line_of(OldestHolds{7}), "7");
  EXPECT_EQ(line_of(ReadUsage{meter}), "api alice");
  EXPECT_EQ(line_of(OneShift{meter, Instant::from_ns(5), -3}), "api alice 5 -3");
  EXPECT_EQ(line_of(ScanUsage{"api", 1, 2}), "api 1 2");
  EXPECT_EQ(line_of(Define{mete::stock("s").amount(5)}), "4 s 5 0 0 0 0 0 0 0 0 0");
  EXPECT_EQ(line_of(FindOverride{meter}), "api alice");
  EXPECT_EQ(line_of(Override{meter, 3}), "api alice 1 3");
  EXPECT_EQ(line_of(ReadStatistics()), "");
  EXPECT_EQ(line_of(SetCounter{.key = "k", .value = 7, .expiry = Expiry::in(1s)}), "k 7 2 1000000000 0 0 0 0");
  EXPECT_EQ(line_of(AddBounded{.key = "k", .by = 2, .upper = 9}), "k 2 0 1 9 0 0 0 0 0");
  EXPECT_EQ(line_of(RemoveQuota{"k"}), "k");
  EXPECT_EQ(line_of(Throttle{"k", {5, 1, 1s, 2}}), "k 5 1 1000000000 2");
  EXPECT_EQ(line_of(RemoveKey{"k", KeyReach::kAllButQuotas}), "k 1");
  EXPECT_EQ(line_of(FindExpiry{"k"}), "k");
  EXPECT_EQ(line_of(ExpireKey{"k", Expiry::at(Instant::from_ns(8)), ExpiryCondition::kIfAny}), "k 3 0 8 2");
  EXPECT_EQ(line_of(ScanKeys{3, 4}), "3 4");
}

// The lists that it refers to, and the room for usages, are made where it is read.
TEST(OperationFields, AnOperationIsReadAsItWas) {
  const Charge charges[] = {{"api", "alice", 2}, {"mail", "bob", 1}};
  Usage usages[2];
  const Take take{.charges = charges, .mode = Mode::kForce, .id = "i", .usages = usages};
  const auto words = words_of(take);
  const auto back = message_of<Take>(words);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(words_of(*back), words);
  ASSERT_EQ(back->charges.size(), 2U);
  EXPECT_EQ(back->charges[1].key, "bob");
  EXPECT_EQ(back->usages.size(), kChargesMax);
  const Amount amounts[] = {3, 4};
  const auto commit = words_of(Commit{"i", amounts, true});
  EXPECT_EQ(words_of(*message_of<Commit>(commit)), commit);
}

std::vector<Limit> some_limits() {
  return {
      mete::bucket("a").amount(3).per(Duration::from_ns(1'000'001)).burst(9).on_fail(OnFail::kOpen),
      mete::window("b").amount(kAmountMax).per(24h * 3653).durable(Durable::kNever).shadow(),
      mete::sliding("c").amount(1).per(1ms).scope(Scope::kShared),
      mete::calendar("d").amount(5).per(Unit::kYear).zone("Europe/Berlin").anchor(month_day(4, 6)),
      mete::stock("").amount(-1),  // what is wrong with it is for the server to say
  };
}

TEST(OperationFields, EveryLimitArrivesAsItWas) {
  for (const Limit& limit : some_limits()) {
    const auto words = words_of(limit);
    EXPECT_EQ(words.size(), count_fields(limit));
    const auto back = message_of<std::optional<Limit>>(words_of(std::optional(limit)));
    ASSERT_TRUE(back.has_value()) << limit.name();
    EXPECT_EQ(*back, limit);
  }
}

TEST(OperationFields, NumbersArriveToTheirEnds) {
  const Verdict verdict{.is_allowed = true,
                        .violated = 0xffff,
                        .taken = kAmountMax,
                        .remaining = std::numeric_limits<std::int64_t>::min(),
                        .limit = std::numeric_limits<std::int64_t>::max(),
                        .retry_after = Duration::never(),
                        .reset_after = Duration::from_ns(-1)};
  EXPECT_EQ(message_of<Verdict>(words_of(verdict)), verdict);
  for (const Instant at : {Instant(), Instant::from_ns(1), Instant::max()}) {
    EXPECT_EQ(message_of<Instant>(words_of(at)), at);
  }
}

// A message that lacks a word, has one too many, or a number that it cannot have, is none.
TEST(OperationFields, WhatIsNotWholeIsRefused) {
  const Charge charges[] = {{"api", "alice", 2}, {"api", "bob", 1}};
  const auto words = words_of(Take{.charges = charges, .mode = Mode::kForce, .id = "i"});
  ASSERT_TRUE(message_of<Take>(words).has_value());
  for (std::size_t count = 0; count < words.size(); ++count) {
    EXPECT_FALSE(message_of<Take>(std::span(words).first(count)).has_value()) << count << " words";
  }
  auto longer = words;
  longer.emplace_back("1");
  EXPECT_FALSE(message_of<Take>(longer).has_value());
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
    EXPECT_FALSE(message_of<Take>(bad).has_value()) << row.place << " is " << row.word;
  }
}

}  // namespace
}  // namespace mete::core
