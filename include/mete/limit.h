// Limit: the definition of a named rule, written as one sentence.
//
//     mete::bucket("api").amount(100).per(1min).burst(200)
//     mete::calendar("links").amount(20).per(mete::Unit::kMonth).zone("Europe/Berlin")
//     mete::stock("storage").amount(5'000'000'000)
//
// A Limit is a value. It is checked as a whole when it is defined, not while it is written.
#pragma once

#include <mete/text.h>
#include <mete/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mete {

// Amounts and costs are whole numbers, exact in Lua, JSON and SQL alike.
using Amount = std::int64_t;
inline constexpr Amount kAmountMax = (Amount{1} << 53) - 1;

inline constexpr std::size_t kNameBytesMax = 128;
inline constexpr std::size_t kKeyBytesMax = 512;
inline constexpr std::size_t kIdBytesMax = 128;
inline constexpr std::size_t kTagBytesMax = 512;
inline constexpr std::size_t kChargesMax = 16;
inline constexpr std::size_t kTakesMax = 1000;  // independent ones in one call
inline constexpr Duration kPeriodMin = std::chrono::milliseconds(1);
inline constexpr Duration kPeriodMax = std::chrono::hours(24) * 3653;  // ten years, leap days included
inline constexpr Duration kHoldTtlMax = std::chrono::hours(24) * 366;

// How capacity comes back.
enum class Kind : std::uint8_t {
  kBucket,    // continuously: amount per period, up to burst
  kWindow,    // all at once, at each multiple of the period since the epoch
  kSliding,   // as the last period slides on
  kCalendar,  // at each hour, day, week, month or year of a time zone
  kStock,     // only when it is given back
};

enum class Unit : std::uint8_t { kHour, kDay, kWeek, kMonth, kYear };

// When a take is on disk, in a store that has one.
enum class Durable : std::uint8_t {
  kAlways,       // before it is answered
  kEverySecond,  // within a second
  kNever,
};

// What becomes of a charge while the store cannot be reached, or cannot write any more.
enum class OnFail : std::uint8_t {
  kClosed,  // an error: kUnavailable
  kOpen,    // it is admitted
  kLocal,   // decided by this process alone, from a share of the limit; the store is told when it is back
};

// Who shares a meter.
enum class Scope : std::uint8_t {
  kNode,    // whoever uses this store
  kShared,  // every node, each decision asked of the one store they share
  kEscrow,  // every node, each with a share that it draws from there and spends alone
};

std::string_view to_string(Kind kind);
std::string_view to_string(Unit unit);
std::string_view to_string(Durable durable);
std::string_view to_string(OnFail on_fail);
std::string_view to_string(Scope scope);

// The anchor of a yearly limit: month_day(4, 6) is 6 April.
constexpr int month_day(int month, int day) { return month * 100 + day; }

// What a limit is made of; a field that was not said is not there.
struct LimitFields {
  Kind kind = Kind::kBucket;
  std::string name = {};
  Amount amount = 0;
  std::optional<Duration> period = {};
  std::optional<Unit> unit = {};
  std::optional<Amount> burst = {};
  std::optional<std::string> zone = {};
  std::optional<int> anchor = {};
  bool is_shadow = false;
  std::optional<Durable> durable = {};
  OnFail on_fail = OnFail::kClosed;
  Scope scope = Scope::kNode;

  bool operator==(const LimitFields&) const = default;
};

class Limit {
 public:
  Limit(Kind kind, Text name) : fields_{.kind = kind, .name = std::string(name)} {}
  explicit Limit(LimitFields fields) : fields_(std::move(fields)) {}

  Limit& amount(Amount amount) {
    fields_.amount = amount;
    return *this;
  }
  Limit& per(Duration period) {
    fields_.period = period;
    return *this;
  }
  Limit& per(Unit unit) {
    fields_.unit = unit;
    return *this;
  }
  // A bucket's capacity; its amount where none is given.
  Limit& burst(Amount burst) {
    fields_.burst = burst;
    return *this;
  }
  Limit& zone(Text zone) {
    fields_.zone = std::string(zone);
    return *this;
  }
  // Where a calendar period starts: ISO weekday 1..7, day of month 1..31, or month_day(month, day) for a year.
  // A month that is too short starts on its last day.
  Limit& anchor(int anchor) {
    fields_.anchor = anchor;
    return *this;
  }
  // A shadow limit is judged and reported, and denies nothing.
  Limit& shadow(bool shadow = true) {
    fields_.is_shadow = shadow;
    return *this;
  }

  // These two count in a store that has a disk; docs/semantics.md says what is on it when.
  Limit& durable(Durable durable) {
    fields_.durable = durable;
    return *this;
  }
  Limit& on_fail(OnFail on_fail) {
    fields_.on_fail = on_fail;
    return *this;
  }
  // Kept and told. A store is the one that its users share: kEscrow is for servers that have [escrow] in their
  // mete.toml, and Limiter::define refuses it.
  Limit& scope(Scope scope) {
    fields_.scope = scope;
    return *this;
  }

  [[nodiscard]] const LimitFields& fields() const { return fields_; }
  [[nodiscard]] Kind kind() const { return fields_.kind; }
  [[nodiscard]] const std::string& name() const { return fields_.name; }
  [[nodiscard]] Amount amount() const { return fields_.amount; }
  [[nodiscard]] std::optional<Duration> period() const { return fields_.period; }
  [[nodiscard]] std::optional<Unit> unit() const { return fields_.unit; }
  [[nodiscard]] std::optional<Amount> burst() const { return fields_.burst; }
  [[nodiscard]] const std::optional<std::string>& zone() const { return fields_.zone; }
  [[nodiscard]] std::optional<int> anchor() const { return fields_.anchor; }
  [[nodiscard]] bool is_shadow() const { return fields_.is_shadow; }
  [[nodiscard]] std::optional<Durable> durable() const { return fields_.durable; }
  // As it was said; where it was not: always for what comes back late or never, each second for the rest.
  [[nodiscard]] Durable durability() const {
    const bool is_lasting = kind() == Kind::kStock || kind() == Kind::kCalendar;
    return fields_.durable.value_or(is_lasting ? Durable::kAlways : Durable::kEverySecond);
  }
  [[nodiscard]] OnFail on_fail() const { return fields_.on_fail; }
  [[nodiscard]] Scope scope() const { return fields_.scope; }

  bool operator==(const Limit&) const = default;

 private:
  LimitFields fields_;
};

inline Limit bucket(Text name) { return {Kind::kBucket, name}; }
inline Limit window(Text name) { return {Kind::kWindow, name}; }
inline Limit sliding(Text name) { return {Kind::kSliding, name}; }
inline Limit calendar(Text name) { return {Kind::kCalendar, name}; }
inline Limit stock(Text name) { return {Kind::kStock, name}; }

}  // namespace mete
