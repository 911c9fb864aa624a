// The fields of a limit, described once. JSON, TOML, the words of LIMIT SET, the options of the command line, the HTTP
// schema, the journal, the texts in Redis, the rows of PostgreSQL and the documentation take them from here. Pure.
//
// They are written in the order of the table, and read in it; a field that is added goes to its end.
#pragma once

#include <mete/limit.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace mete::core {

inline constexpr std::string_view kKindNames = "bucket|window|sliding|calendar|stock";
inline constexpr std::string_view kKindWords = "BUCKET|WINDOW|SLIDING|CALENDAR|STOCK";  // of LIMIT SET
inline constexpr std::string_view kUnitNames = "hour|day|week|month|year";
inline constexpr std::string_view kDurableNames = "always|everysec|never";
inline constexpr std::string_view kOnFailNames = "closed|open|local";
inline constexpr std::string_view kScopeNames = "node|shared|escrow";

enum class FieldType : std::uint8_t {
  kName,      // one of the field's names: its place among them
  kAmount,    // never negative
  kNumber,    // of 32 bits
  kDuration,  // in nanoseconds
  kFlag,      // 1 or 0
  kText,
};

// A text is a view into what it was read from.
struct FieldValue {
  std::int64_t number = 0;
  std::string_view text = {};
};

// Bits of LimitField::kinds.
constexpr unsigned bit_of(Kind kind) { return 1U << static_cast<unsigned>(kind); }
inline constexpr unsigned kAllKinds = 0x1f;
inline constexpr unsigned kPeriodic = bit_of(Kind::kBucket) | bit_of(Kind::kWindow) | bit_of(Kind::kSliding);

struct LimitField {
  // One that is not optional always has a value: it is required, or 0 where nothing was said.
  using Member =
      std::variant<Kind LimitFields::*, Amount LimitFields::*, std::optional<Duration> LimitFields::*,
                   std::optional<Amount> LimitFields::*, std::optional<Unit> LimitFields::*,
                   std::optional<std::string> LimitFields::*, std::optional<int> LimitFields::*, bool LimitFields::*,
                   std::optional<Durable> LimitFields::*, OnFail LimitFields::*, Scope LimitFields::*>;

  std::string_view name;  // as users write it
  Member member;
  FieldType type;
  std::string_view names;            // of a kName
  unsigned kinds;                    // those that may have it
  unsigned journal_flag;             // set in the journal where the field is there; 0: it always is
  std::string_view word;             // of LIMIT SET; empty: the kind is the word, and the amount stands behind it
  std::string_view syntax;           // what stands behind the word
  std::string_view option;           // of the command line, without its dashes
  std::string_view value_name;       // what stands behind that
  std::string_view help;             // a sentence without its full stop
  std::string_view note = {};        // its range, or what holds where nothing was said
  std::string_view own_name = name;  // unlike any other field's

  [[nodiscard]] constexpr bool is_required() const { return word.empty(); }
  [[nodiscard]] constexpr bool is_of(Kind kind) const { return (kinds & bit_of(kind)) != 0; }

  // None where it was not said, and has no value then.
  [[nodiscard]] std::optional<FieldValue> get(const Limit& limit) const;
  // The same, but none for what holds where nothing was said.
  [[nodiscard]] std::optional<FieldValue> told(const Limit& limit) const;
  // The value must be one of the type's.
  void set(LimitFields& fields, const FieldValue& value) const;

  // As stores elsewhere keep it: the text or name itself, a duration in microseconds, 1 or 0 for a flag.
  [[nodiscard]] std::string to_text(const FieldValue& value) const;
  [[nodiscard]] std::optional<FieldValue> parse(std::string_view text) const;
};

inline constexpr std::array kLimitFields = {
    LimitField{"kind", &LimitFields::kind, FieldType::kName, kKindNames, kAllKinds, 0, "", "", "", "KIND",
               "How capacity comes back"},
    LimitField{"amount", &LimitFields::amount, FieldType::kAmount, "", kAllKinds, 0, "", "", "", "AMOUNT",
               "How much there is, in a period", "1 to 9007199254740991"},
    LimitField{"period", &LimitFields::period, FieldType::kDuration, "", kPeriodic, 1, "PER",
               "duration|HOUR|DAY|WEEK|MONTH|YEAR", "per", "PERIOD",
               "The period: a duration, and of a calendar hour, day, week, month or year; a stock has none",
               "1ms to 3653d (ten years)"},
    LimitField{"burst", &LimitFields::burst, FieldType::kAmount, "", bit_of(Kind::kBucket), 4, "BURST", "n", "burst",
               "N", "How much a bucket holds when it is full; as much as its amount, if not given"},
    LimitField{"period", &LimitFields::unit, FieldType::kName, kUnitNames, bit_of(Kind::kCalendar), 2, "PER", "", "",
               "", "", "", "unit"},
    LimitField{"zone", &LimitFields::zone, FieldType::kText, "", bit_of(Kind::kCalendar), 8, "ZONE", "Area/City",
               "zone", "AREA/CITY", "The time zone of a calendar; UTC, if not given"},
    LimitField{"anchor", &LimitFields::anchor, FieldType::kNumber, "", bit_of(Kind::kCalendar), 16, "ANCHOR", "n",
               "anchor", "N",
               "Where a calendar's period starts: weekday 1 to 7, day 1 to 31, of a year month * 100 + day"},
    LimitField{"shadow", &LimitFields::is_shadow, FieldType::kFlag, "", kAllKinds, 32, "SHADOW", "", "shadow", "",
               "Count what would be denied, and allow it"},
    LimitField{"durable", &LimitFields::durable, FieldType::kName, kDurableNames, kAllKinds, 64, "DURABLE",
               kDurableNames, "durable", "WHEN", "When a take is on disk",
               "always for stock and calendar, everysec for the rest, if not given"},
    LimitField{"on_fail", &LimitFields::on_fail, FieldType::kName, kOnFailNames, kAllKinds, 0, "ONFAIL", kOnFailNames,
               "on-fail", "HOW",
               "What becomes of takes while the store cannot be reached: an error, admitted, or decided from a share",
               "closed, if not given"},
    LimitField{"scope", &LimitFields::scope, FieldType::kName, kScopeNames, kAllKinds, 0, "SCOPE", kScopeNames, "scope",
               "WHERE", "Whether each node has the limit for itself or shares it",
               "node, if not given; escrow needs [escrow]"},
};

// Its help with its note, and between them its names if they are wanted.
std::string summary_of(const LimitField& field, bool lists_names);

// The kind and the amount; all behind them are options.
inline constexpr std::size_t kLimitFieldsRequired = 2;
// The options, in the order in which help lists them: their places in kLimitFields.
inline constexpr std::array<std::size_t, 8> kLimitOptions = {2, 3, 5, 6, 8, 9, 7, 10};

}  // namespace mete::core
