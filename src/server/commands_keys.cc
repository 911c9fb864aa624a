// Commands on keys, as Redis has them: counters, and what every key can be asked.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/decimal.h"
#include "core/validate.h"
#include "server/commands.h"
#include "server/with_keys.h"
#include "wire/glob.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

enum SetArgument : std::uint8_t { kKey, kValue, kEx, kPx, kExAt, kPxAt, kKeepTtl, kNx, kXx, kGet };
enum BoundedArgument : std::uint8_t {
  kByInt = 1,
  kLower,
  kUpper,
  kSaturate,
  kBEx,
  kBPx,
  kBExAt,
  kBPxAt,
  kPersist,
  kEnx
};
enum ScanArgument : std::uint8_t { kCursor, kMatch, kCount, kType };

constexpr std::int64_t kScanCountDefault = 10;
constexpr std::int64_t kScanCountMax = 100'000;
constexpr std::size_t kKeysPage = 1000;

void write_value(wire::RespWriter& reply, std::optional<std::int64_t> value) {
  if (value) {
    std::array<char, base::kDecimalBytesMax> digits;
    const char* const end = base::write_decimal(digits.data(), *value);
    reply.bulk({digits.data(), static_cast<std::size_t>(end - digits.data())});
  } else {
    reply.null();
  }
}

Result<store::Expiry> bad_expiry(std::string_view command) {
  return tl::unexpected(Error{ErrorCode::kInvalid, "invalid expire time in '" + std::string(command) + "' command"});
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

std::optional<store::Expiry> to_expiry(std::int64_t number, TimeUnit unit) {
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(number, unit.ns, &ns)) return std::nullopt;
  if (!unit.is_absolute) return store::Expiry::in(Duration::from_ns(ns));
  return store::Expiry::at(ns < 0 ? Instant() : Instant::from_ns(static_cast<std::uint64_t>(ns)));
}

// The first of four arguments EX, PX, EXAT, PXAT that is there.
Result<store::Expiry> read_expiry(const Arguments& arguments, std::size_t first, std::string_view command,
                                  store::Expiry otherwise) {
  constexpr std::array<TimeUnit, 4> kUnits = {kSeconds, kMilliseconds, kUnixSeconds, kUnixMilliseconds};
  for (std::size_t index = 0; index < kUnits.size(); ++index) {
    if (!arguments.has(first + index)) continue;
    const std::int64_t number = arguments.integer(first + index);
    const auto expiry = number > 0 ? to_expiry(number, kUnits[index]) : std::nullopt;
    if (!expiry) return bad_expiry(command);
    return *expiry;
  }
  return otherwise;
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
          return tl::unexpected(Error{ErrorCode::kInvalid, "decrement would overflow"});
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
      return tl::unexpected(Error{ErrorCode::kInvalid, "Unsupported option " + std::string(word)});
    }
    has[static_cast<std::size_t>(option - kOptions.begin())] = true;
  }
  const auto [nx, xx, gt, lt] = has;
  if (nx && (xx || gt || lt)) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid, "NX and XX, GT or LT options at the same time are not compatible"});
  }
  if (gt && lt) {
    return tl::unexpected(Error{ErrorCode::kInvalid, "GT and LT options at the same time are not compatible"});
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
        const auto condition = read_condition(context.arguments.rest());
        if (!condition) return tl::unexpected(condition.error());
        const auto expiry = to_expiry(context.arguments.integer(1), unit);
        if (!expiry) return tl::unexpected(bad_expiry(command).error());
        return keys.expire(context.arguments.text(kKey), *expiry, *condition);
      },
      [&](bool is_set) { context.reply.integer(is_set ? 1 : 0); });
}

void write_ttl(CommandContext& context, bool in_seconds) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.ttl(context.arguments.text(kKey)); },
      [&](std::optional<Duration> ttl) {
        if (!ttl) {
          context.reply.integer(-2);
        } else {
          // Rounded as Redis does: to the nearest second. Both of these are -1 for a key that stays.
          const std::int64_t ms = ttl->ms();
          context.reply.integer(in_seconds && ms >= 0 ? (ms + 500) / 1000 : ms);
        }
      });
}

Result<std::int64_t> count_keys(std::span<const std::string_view> names, store::Keys& keys, bool removes) {
  for (const std::string_view name : names) {
    if (const auto valid = core::validate_key(name); !valid) return tl::unexpected(valid.error());
  }
  std::int64_t count = 0;
  for (const std::string_view name : names) {
    if (removes) {
      const auto removed = keys.remove(name);
      if (!removed) return tl::unexpected(removed.error());
      count += *removed ? 1 : 0;
    } else {
      const auto type = keys.type(name);
      if (!type) return tl::unexpected(type.error());
      count += *type != store::KeyType::kNone ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

void get(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.get(context.arguments.text(kKey)); },
      [&](std::optional<std::int64_t> value) { write_value(context.reply, value); });
}

void set(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<store::SetAnswer> {
        store::SetRequest request{.key = arguments.text(kKey), .value = arguments.integer(kValue)};
        const auto expiry =
            read_expiry(arguments, kEx, "set", arguments.has(kKeepTtl) ? store::Expiry::keep() : store::Expiry::none());
        if (!expiry) return tl::unexpected(expiry.error());
        request.expiry = *expiry;
        if (arguments.has(kNx)) request.condition = store::SetCondition::kIfAbsent;
        if (arguments.has(kXx)) request.condition = store::SetCondition::kIfPresent;
        request.wants_old = arguments.has(kGet);
        return keys.set(request);
      },
      [&](const store::SetAnswer& answer) {
        if (arguments.has(kGet)) {
          write_value(context.reply, answer.old);
        } else if (answer.is_set) {
          context.reply.ok();
        } else {
          context.reply.null();
        }
      });
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
        for (const std::string_view key : context.arguments.rest()) {
          const auto value = keys.get(key);
          if (!value && value.error().code != ErrorCode::kWrongType) return tl::unexpected(value.error());
          values.push_back(value ? *value : std::nullopt);
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
        store::BoundedAdd request{.key = arguments.text(kKey), .by = arguments.integer_or(kByInt, 1)};
        if (arguments.has(kLower)) request.lower = arguments.integer(kLower);
        if (arguments.has(kUpper)) request.upper = arguments.integer(kUpper);
        request.saturate = arguments.has(kSaturate);
        const auto expiry = read_expiry(arguments, kBEx, "increx",
                                        arguments.has(kPersist) ? store::Expiry::none() : store::Expiry::keep());
        if (!expiry) return tl::unexpected(expiry.error());
        request.expiry = *expiry;
        request.expiry_only_if_none = arguments.has(kEnx);
        if (request.expiry_only_if_none &&
            (request.expiry.kind == store::Expiry::Kind::kKeep || arguments.has(kPersist))) {
          return tl::unexpected(Error{ErrorCode::kInvalid, "ENX needs one of EX, PX, EXAT and PXAT"});
        }
        if (request.lower && request.upper && *request.lower > *request.upper) {
          return tl::unexpected(Error{ErrorCode::kInvalid, "LBOUND is above UBOUND"});
        }
        return keys.add_bounded(request);
      },
      [&](const store::BoundedSum& sum) { context.reply.integers(sum.value, sum.applied); });
}

void exists(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return count_keys(context.arguments.rest(), keys, false); },
      [&](std::int64_t count) { context.reply.integer(count); });
}

void del(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return count_keys(context.arguments.rest(), keys, true); },
      [&](std::int64_t count) { context.reply.integer(count); });
}

void type(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.type(context.arguments.text(kKey)); },
      [&](store::KeyType type) { context.reply.simple(to_string(type)); });
}

void ttl(CommandContext& context) { write_ttl(context, true); }
void pttl(CommandContext& context) { write_ttl(context, false); }
void expire(CommandContext& context) { expire_in(context, kSeconds, "expire"); }
void pexpire(CommandContext& context) { expire_in(context, kMilliseconds, "pexpire"); }
void expireat(CommandContext& context) { expire_in(context, kUnixSeconds, "expireat"); }

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
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<std::vector<std::string>> {
        std::vector<std::string> found;
        std::uint64_t cursor = 0;
        do {
          auto page = keys.scan(cursor, kKeysPage);
          if (!page) return tl::unexpected(page.error());
          for (auto& listed : page->keys) {
            if (wire::matches_glob(pattern, listed.key)) found.push_back(std::move(listed.key));
          }
          cursor = page->cursor;
        } while (cursor != 0);
        return found;
      },
      [&](const std::vector<std::string>& found) {
        context.reply.array(found.size());
        for (const std::string& key : found) context.reply.bulk(key);
      });
}

void scan(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  std::uint64_t cursor = 0;
  const std::string_view cursor_text = arguments.text(kCursor);
  const auto parsed = std::from_chars(cursor_text.data(), cursor_text.data() + cursor_text.size(), cursor);
  if (parsed.ec != std::errc{} || parsed.ptr != cursor_text.data() + cursor_text.size() || cursor_text.empty()) {
    context.reply.error("ERR", "invalid cursor");
    return;
  }
  const std::int64_t count = arguments.integer_or(kCount, kScanCountDefault);
  if (count < 1 || count > kScanCountMax) {
    context.reply.error("ERR", "COUNT must be from 1 to " + std::to_string(kScanCountMax));
    return;
  }
  with_keys(
      context, [&](store::Keys& keys) { return keys.scan(cursor, static_cast<std::size_t>(count)); },
      [&](const store::KeyPage& page) {
        std::vector<std::string_view> found;
        for (const auto& listed : page.keys) {
          if (arguments.has(kMatch) && !wire::matches_glob(arguments.text(kMatch), listed.key)) continue;
          if (arguments.has(kType) && !wire::equals_ignoring_case(arguments.text(kType), to_string(listed.type)))
            continue;
          found.emplace_back(listed.key);
        }
        context.reply.array(2);
        context.reply.bulk(std::to_string(page.cursor));
        context.reply.array(found.size());
        for (const std::string_view key : found) context.reply.bulk(key);
      });
}

}  // namespace mete::server::commands
