// Commands on keys, as Redis has them: counters, and what every key can be asked.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "base/decimal.h"
#include "base/errors.h"
#include "base/try.h"
#include "net/fiber.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/running/service.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

enum SetArgument : std::uint8_t {
  kKey,
  kSetValue,
  kSetEx,
  kSetPx,
  kSetExAt,
  kSetPxAt,
  kSetKeepTtl,
  kSetNx,
  kSetXx,
  kSetGet
};
enum IncrexArgument : std::uint8_t {
  kIncrexBy = 1,
  kIncrexLower,
  kIncrexUpper,
  kIncrexSaturate,
  kIncrexEx,
  kIncrexPx,
  kIncrexExAt,
  kIncrexPxAt,
  kIncrexPersist,
  kIncrexEnx
};
enum ScanArgument : std::uint8_t { kScanCursor, kScanMatch, kScanCount, kScanType };

constexpr std::int64_t kScanCountDefault = 10;
constexpr std::int64_t kScanPageMax = 100'000;  // COUNT is a hint: whoever wants more gets it in several pages
constexpr std::size_t kKeysPage = 1000;
// An event loop waits for SCAN: so it looks at some keys at a time, and goes on only while that has been little work,
// counted in bytes that were compared at worst. This is a millisecond or two.
constexpr std::size_t kScanWorkMax = 1'000'000;
constexpr std::size_t kScanWorkOfKey = 200;
constexpr std::size_t kScanWorkOfPage = 100'000;  // of one that has looked through much that is no key
constexpr std::size_t kScanSlice = 32;
constexpr std::size_t kScanSliceOfLongPattern = 4;
constexpr std::size_t kLongPattern = 64;
constexpr std::size_t kScanSliceElsewhere = 1000;  // each is a way there and back

void write_value(wire::RespWriter& reply, std::optional<std::int64_t> value) {
  if (value) {
    std::array<char, base::kDecimalBytesMax> digits{};
    const char* const end = base::write_decimal(digits.data(), *value);
    reply.bulk({digits.data(), static_cast<std::size_t>(end - digits.data())});
  } else {
    reply.null();
  }
}

Result<store::Expiry> bad_expiry(std::string_view command) {
  return base::invalid("invalid expire time in '" + std::string(command) + "' command");
}

// An expiry given in seconds or milliseconds, from now or since 1970.
struct TimeUnit {
  std::int64_t ns;
  bool is_absolute;
};
constexpr TimeUnit kSeconds{1'000'000'000, false};
constexpr TimeUnit kMilliseconds{1'000'000, false};
constexpr TimeUnit kUnixSeconds{1'000'000'000, true};
constexpr TimeUnit kUnixMilliseconds{1'000'000, true};

// None if it cannot be told: from the year 2554 on, or farther back than 292 years. What is longer than a Duration can
// be is told as an instant.
std::optional<store::Expiry> to_expiry(std::int64_t number, TimeUnit unit, Instant now) {
  std::int64_t ns = 0;
  const bool is_duration = !__builtin_mul_overflow(number, unit.ns, &ns);
  if (!unit.is_absolute && is_duration) return store::Expiry::in(Duration::from_ns(ns));
  if (number < 0) return is_duration ? std::optional(store::Expiry::at(Instant())) : std::nullopt;
  std::uint64_t end_ns = 0;
  if (__builtin_mul_overflow(number, unit.ns, &end_ns) ||
      __builtin_add_overflow(end_ns, unit.is_absolute ? 0 : now.ns(), &end_ns)) {
    return std::nullopt;
  }
  return store::Expiry::at(Instant::from_ns(end_ns));
}

// Of a key that is being written: a time that is over is none.
Result<store::Expiry> above_zero(const CommandContext& context, std::int64_t number, TimeUnit unit,
                                 std::string_view command) {
  const auto expiry = number > 0 ? to_expiry(number, unit, context.store.now()) : std::nullopt;
  if (!expiry) return bad_expiry(command);
  return *expiry;
}

// The first of four arguments EX, PX, EXAT, PXAT that is there.
Result<store::Expiry> read_expiry(const CommandContext& context, std::size_t first, std::string_view command,
                                  store::Expiry otherwise) {
  constexpr std::array<TimeUnit, 4> kTimeUnits = {kSeconds, kMilliseconds, kUnixSeconds, kUnixMilliseconds};
  for (std::size_t index = 0; index < kTimeUnits.size(); ++index) {
    if (!context.arguments.has(first + index)) continue;
    return above_zero(context, context.arguments.integer(first + index), kTimeUnits[index], command);
  }
  return otherwise;
}

void refuse_quota(CommandContext& context, std::string_view key) {
  context.reply.error("NOPERM", "this password may use the quota " + wire::quote(key) +
                                    ", not remove or replace it: AUTH with the admin's");
}

// Makes the key a counter, as the request says, and tells write() how that went.
template <class Write>
void set_counter(CommandContext& context, const Result<store::Expiry>& expiry, store::SetCounter request, Write write) {
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<store::SetAnswer> {
        if (!expiry) return expiry.error();
        request.expiry = *expiry;
        request.reach = reach_of(context);
        return keys.set(request);
      },
      [&](const store::SetAnswer& answer) {
        if (answer.is_out_of_reach) {
          refuse_quota(context, request.key);
        } else {
          write(answer);
        }
      });
}

// SETEX and PSETEX: the time stands before the value.
void set_with_time(CommandContext& context, TimeUnit unit, std::string_view command) {
  enum Argument : std::uint8_t { kTime = 1, kTimedValue };
  set_counter(context, above_zero(context, context.arguments.integer(kTime), unit, command),
              {.key = context.arguments.text(kKey), .value = context.arguments.integer(kTimedValue)},
              [&](const store::SetAnswer&) { context.reply.ok(); });
}

void add(CommandContext& context, std::int64_t by) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.add(context.arguments.text(kKey), by); },
      [&](std::int64_t value) { context.reply.integer(value); });
}

void subtract(CommandContext& context, std::int64_t by) {
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<std::int64_t> {
        if (by == std::numeric_limits<std::int64_t>::min()) {
          return base::invalid("decrement would overflow");
        }
        return keys.add(context.arguments.text(kKey), -by);
      },
      [&](std::int64_t value) { context.reply.integer(value); });
}

// NX, XX, GT and LT of EXPIRE and its like; what goes together, and the errors, are Redis's.
Result<store::ExpiryCondition> read_condition(std::span<const std::string_view> words) {
  constexpr std::array<std::string_view, 4> kOptions = {"NX", "XX", "GT", "LT"};
  std::array<bool, 4> has{};
  for (const std::string_view word : words) {
    const auto* const option = std::find_if(kOptions.begin(), kOptions.end(), [&](std::string_view name) {
      return wire::equals_ignoring_case(name, word);
    });
    if (option == kOptions.end()) {
      return base::invalid("Unsupported option " + std::string(word));
    }
    has[static_cast<std::size_t>(option - kOptions.begin())] = true;
  }
  const auto [nx, xx, gt, lt] = has;
  if (nx && (xx || gt || lt)) {
    return base::invalid("NX and XX, GT or LT options at the same time are not compatible");
  }
  if (gt && lt) {
    return base::invalid("GT and LT options at the same time are not compatible");
  }
  using enum store::ExpiryCondition;
  if (gt) return kIfLater;
  if (lt) return xx ? kIfAnyAndSooner : kIfSooner;
  if (xx) return kIfAny;
  return nx ? kIfNone : kAlways;
}

void expire_in(CommandContext& context, TimeUnit unit, std::string_view command) {
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<bool> {
        const auto condition = TRY(read_condition(context.arguments.rest()));
        const auto expiry = to_expiry(context.arguments.integer(1), unit, context.store.now());
        if (!expiry) return bad_expiry(command).error();
        return keys.expire(context.arguments.text(kKey), *expiry, condition);
      },
      [&](bool is_set) { context.reply.integer(is_set ? 1 : 0); });
}

// When a key expires, in milliseconds after `start`, rounded up; in seconds, rounded to the nearest one, as Redis does.
void write_expiry(CommandContext& context, Instant start, bool in_seconds) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  with_keys(
      context, [&](store::Keys& keys) { return keys.expires_at(context.arguments.text(kKey)); },
      [&](std::optional<Instant> end) {
        if (!end) {
          context.reply.integer(-2);
        } else if (*end == Instant::max()) {
          context.reply.integer(-1);
        } else {
          const std::uint64_t ns = *end > start ? end->ns() - start.ns() : 0;
          const auto ms = static_cast<std::int64_t>(ns / kNsPerMs + (ns % kNsPerMs > 0 ? 1 : 0));
          context.reply.integer(in_seconds ? (ms + 500) / 1000 : ms);
        }
      });
}

struct KeyCount {
  std::int64_t count = 0;
  std::optional<std::string_view> quota;  // one of them
};

// What goes through many keys lets others work between a thousand of them and the next.
class Strides {
 public:
  void step() {
    if (++steps_ % kKeysPage == 0) net::let_others_go_first();
  }

 private:
  std::size_t steps_ = 0;
};

Result<KeyCount> count_keys(std::span<const std::string_view> names, store::Keys& keys) {
  KeyCount found;
  Strides strides;
  for (const std::string_view name : names) {
    strides.step();
    const auto type = TRY(keys.type(name));
    found.count += type != store::KeyType::kNone ? 1 : 0;
    if (type == store::KeyType::kQuota) found.quota = name;
  }
  return found;
}

// An error changes nothing: all keys are looked at before the first is removed. What has become a quota meanwhile stays
// one, as if that had happened afterwards.
Result<KeyCount> remove_keys(std::span<const std::string_view> names, store::KeyReach reach, store::Keys& keys) {
  auto found = count_keys(names, keys);
  if (!found || (found->quota && reach == store::KeyReach::kAllButQuotas)) return found;
  KeyCount removed;
  Strides strides;
  for (const std::string_view name : names) {
    strides.step();
    const auto is_removed = TRY(keys.remove(name, reach));
    removed.count += is_removed ? 1 : 0;
  }
  return removed;
}

// Looks at `count` keys, or at as many as it may.
Result<store::KeyPage> scan_a_little(store::Keys& keys, std::uint64_t cursor, std::size_t count, std::size_t slice,
                                     std::size_t pattern_bytes,
                                     const std::function<bool(const core::ListedKey&)>& is_wanted) {
  store::KeyPage found{.cursor = cursor, .keys = {}};
  std::size_t work = 0;
  for (std::size_t looked = 0; looked < count && work < kScanWorkMax;) {
    const std::size_t wanted = std::min(slice, count - looked);
    auto page = TRY(keys.scan(found.cursor, wanted));
    looked += page.keys.size();
    if (page.keys.size() < wanted) work += kScanWorkOfPage;
    for (auto& listed : page.keys) {
      work += kScanWorkOfKey + pattern_bytes * listed.key.size();
      if (is_wanted(listed)) found.keys.push_back(std::move(listed));
    }
    found.cursor = page.cursor;
    if (found.cursor == 0) break;
  }
  return found;
}

}  // namespace

void get(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.get(context.arguments.text(kKey)); },
      [&](std::optional<std::int64_t> value) { write_value(context.reply, value); });
}

void set(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  store::SetCounter request{.key = arguments.text(kKey), .value = arguments.integer(kSetValue)};
  if (arguments.has(kSetNx)) request.condition = store::SetCondition::kIfAbsent;
  if (arguments.has(kSetXx)) request.condition = store::SetCondition::kIfPresent;
  request.wants_old = arguments.has(kSetGet);
  const auto expiry =
      read_expiry(context, kSetEx, "set", arguments.has(kSetKeepTtl) ? store::Expiry::keep() : store::Expiry::none());
  set_counter(context, expiry, request, [&](const store::SetAnswer& answer) {
    if (arguments.has(kSetGet)) {
      write_value(context.reply, answer.old);
    } else if (answer.is_set) {
      context.reply.ok();
    } else {
      context.reply.null();
    }
  });
}

void setex(CommandContext& context) { set_with_time(context, kSeconds, "setex"); }
void psetex(CommandContext& context) { set_with_time(context, kMilliseconds, "psetex"); }

void setnx(CommandContext& context) {
  set_counter(context, store::Expiry::none(),
              {.key = context.arguments.text(kKey),
               .value = context.arguments.integer(kSetValue),
               .condition = store::SetCondition::kIfAbsent},
              [&](const store::SetAnswer& answer) { context.reply.integer(answer.is_set ? 1 : 0); });
}

void incr(CommandContext& context) { add(context, 1); }
void incrby(CommandContext& context) { add(context, context.arguments.integer(1)); }
void decr(CommandContext& context) { subtract(context, 1); }
void decrby(CommandContext& context) { subtract(context, context.arguments.integer(1)); }

void getdel(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.take_out(context.arguments.text(kKey)); },
      [&](std::optional<std::int64_t> value) { write_value(context.reply, value); });
}

// As with Redis, a key of another type is nil here.
void mget(CommandContext& context) {
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<std::vector<std::optional<std::int64_t>>> {
        std::vector<std::optional<std::int64_t>> values;
        Strides strides;
        for (const std::string_view key : context.arguments.rest()) {
          strides.step();
          const auto value = keys.get(key);
          if (!value.has_value() && value.error().code != ErrorCode::kWrongType) return value.error();
          values.push_back(value.has_value() ? *value : std::nullopt);
        }
        return values;
      },
      [&](const std::vector<std::optional<std::int64_t>>& values) {
        context.reply.array(values.size());
        for (const auto& value : values) write_value(context.reply, value);
      });
}

void increx(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<store::BoundedSum> {
        store::AddBounded request{.key = arguments.text(kKey), .by = arguments.integer_or(kIncrexBy, 1)};
        if (arguments.has(kIncrexLower)) request.lower = arguments.integer(kIncrexLower);
        if (arguments.has(kIncrexUpper)) request.upper = arguments.integer(kIncrexUpper);
        request.saturate = arguments.has(kIncrexSaturate);
        const auto expiry =
            TRY(read_expiry(context, kIncrexEx, "increx",
                            arguments.has(kIncrexPersist) ? store::Expiry::none() : store::Expiry::keep()));
        request.expiry = expiry;
        request.expiry_only_if_none = arguments.has(kIncrexEnx);
        if (request.expiry_only_if_none &&
            (request.expiry.kind == store::Expiry::Kind::kKeep || arguments.has(kIncrexPersist))) {
          return base::invalid("ENX needs one of EX, PX, EXAT and PXAT");
        }
        if (request.lower && request.upper && *request.lower > *request.upper) {
          return base::invalid("LBOUND is above UBOUND");
        }
        return keys.add_bounded(request);
      },
      [&](const store::BoundedSum& sum) { context.reply.integers(sum.value, sum.applied); });
}

void exists(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return count_keys(context.arguments.rest(), keys); },
      [&](const KeyCount& found) { context.reply.integer(found.count); });
}

void del(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return remove_keys(context.arguments.rest(), reach_of(context), keys); },
      [&](const KeyCount& removed) {
        if (removed.quota) {
          refuse_quota(context, *removed.quota);
        } else {
          context.reply.integer(removed.count);
        }
      });
}

void type(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.type(context.arguments.text(kKey)); },
      [&](store::KeyType type) { context.reply.simple(to_string(type)); });
}

void ttl(CommandContext& context) { write_expiry(context, context.store.now(), true); }
void pttl(CommandContext& context) { write_expiry(context, context.store.now(), false); }
void expiretime(CommandContext& context) { write_expiry(context, Instant(), true); }
void pexpiretime(CommandContext& context) { write_expiry(context, Instant(), false); }
void expire(CommandContext& context) { expire_in(context, kSeconds, "expire"); }
void pexpire(CommandContext& context) { expire_in(context, kMilliseconds, "pexpire"); }
void expireat(CommandContext& context) { expire_in(context, kUnixSeconds, "expireat"); }
void pexpireat(CommandContext& context) { expire_in(context, kUnixMilliseconds, "pexpireat"); }

void persist(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.persist(context.arguments.text(kKey)); },
      [&](bool is_changed) { context.reply.integer(is_changed ? 1 : 0); });
}

void dbsize(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.size(); },
      [&](std::size_t size) { context.reply.integer(static_cast<std::int64_t>(size)); });
}

void keys(CommandContext& context) {
  const std::string_view pattern = context.arguments.text(0);
  if (refuses_pattern(context, pattern)) return;
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<std::vector<std::string>> {
        std::vector<std::string> found;
        std::uint64_t cursor = 0;
        do {
          auto page = TRY(keys.scan(cursor, kKeysPage));
          net::let_others_go_first();
          for (auto& listed : page.keys) {
            if (wire::matches_glob(pattern, listed.key)) found.push_back(std::move(listed.key));
          }
          cursor = page.cursor;
        } while (cursor != 0);
        return found;
      },
      [&](const std::vector<std::string>& found) { write_strings(context.reply, found); });
}

void scan(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  std::uint64_t cursor = 0;
  const std::string_view cursor_text = arguments.text(kScanCursor);
  const auto parsed = std::from_chars(cursor_text.data(), cursor_text.data() + cursor_text.size(), cursor);
  if (parsed.ec != std::errc{} || parsed.ptr != cursor_text.data() + cursor_text.size() || cursor_text.empty()) {
    context.reply.error("ERR", "invalid cursor");
    return;
  }
  const std::int64_t count = arguments.integer_or(kScanCount, kScanCountDefault);
  if (count < 1) {
    context.reply.error("ERR", "syntax error");
    return;
  }
  const std::string_view pattern = arguments.text_or(kScanMatch, {});
  if (refuses_pattern(context, pattern)) return;
  const auto is_wanted = [&](const core::ListedKey& listed) {
    if (arguments.has(kScanMatch) && !wire::matches_glob(pattern, listed.key)) return false;
    return !arguments.has(kScanType) || wire::equals_ignoring_case(arguments.text(kScanType), to_string(listed.type));
  };
  const std::size_t slice_here = pattern.size() > kLongPattern ? kScanSliceOfLongPattern : kScanSlice;
  const std::size_t slice = context.service.is_store_elsewhere ? kScanSliceElsewhere : slice_here;
  with_keys(
      context,
      [&](store::Keys& keys) {
        return scan_a_little(keys, cursor, static_cast<std::size_t>(std::min(count, kScanPageMax)), slice,
                             pattern.size(), is_wanted);
      },
      [&](const store::KeyPage& page) {
        context.reply.array(2);
        context.reply.bulk(std::to_string(page.cursor));
        context.reply.array(page.keys.size());
        for (const auto& listed : page.keys) context.reply.bulk(listed.key);
      });
}

}  // namespace mete::server::commands
