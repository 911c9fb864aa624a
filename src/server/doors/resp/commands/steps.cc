// The steps on keys that commands ask for, in the shape that nearly all requests have, and how they are answered.
#include <array>

#include "server/doors/resp/commands/commands.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

using Words = std::span<const std::string_view>;

// The integers that some words are; false if one of them is none.
template <std::size_t count>
bool read_integers(Words words, std::array<std::int64_t, count>& integers) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto integer = wire::parse_integer(words[i]);
    if (!integer) return false;
    integers[i] = *integer;
  }
  return true;
}

template <int sign>
bool read_add_one(Words words, core::KeyStep& step) {
  if (words.size() != 1) return false;
  step = core::AddToCounter{words[0], sign};
  return true;
}

template <int sign>
bool read_add(Words words, core::KeyStep& step) {
  std::array<std::int64_t, 1> by{};
  std::int64_t signed_by = 0;
  const bool is_usual =
      words.size() == 2 && read_integers(words.subspan(1), by) && !__builtin_mul_overflow(by[0], sign, &signed_by);
  if (is_usual) step = core::AddToCounter{words[0], signed_by};
  return is_usual;
}

// A time from now; false where it is none, or too long.
bool read_length(std::int64_t number, std::int64_t unit_ns, core::Expiry& expiry) {
  std::int64_t ns = 0;
  if (number <= 0 || __builtin_mul_overflow(number, unit_ns, &ns)) return false;
  expiry = core::Expiry::in(Duration::from_ns(ns));
  return true;
}

// Nearly all have bounds, and a time from now.
bool read_increx(Words words, core::KeyStep& step) {
  constexpr std::int64_t kMillisecondNs = 1'000'000;
  if (words.empty()) return false;
  core::AddBounded add{.key = words[0]};
  bool has_by = false;
  const auto is_option = [&](std::size_t i, std::string_view name) {
    return wire::equals_ignoring_case(words[i], name);
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_option(i, "ENX")) {
      if (add.expiry_only_if_none) return false;
      add.expiry_only_if_none = true;
      continue;
    }
    const auto number = i + 1 < words.size() ? wire::parse_integer(words[i + 1]) : std::nullopt;
    if (!number) return false;
    const bool has_expiry = add.expiry.kind != core::Expiry::Kind::kKeep;
    if (is_option(i, "UBOUND") && !add.upper) {
      add.upper = number;
    } else if (is_option(i, "LBOUND") && !add.lower) {
      add.lower = number;
    } else if (is_option(i, "BYINT") && !has_by) {
      add.by = *number;
      has_by = true;
    } else if (is_option(i, "EX") && !has_expiry) {
      if (!read_length(*number, kMillisecondNs * 1000, add.expiry)) return false;
    } else if (is_option(i, "PX") && !has_expiry) {
      if (!read_length(*number, kMillisecondNs, add.expiry)) return false;
    } else {
      return false;
    }
    ++i;
  }
  step = add;
  return true;
}

bool read_quota_take(Words words, core::KeyStep& step) {
  std::array<std::int64_t, 3> numbers = {0, 0, 1};
  const bool is_usual = (words.size() == 3 || words.size() == 4) && read_integers(words.subspan(1), numbers);
  if (is_usual) step = core::TakeQuota{words[0], {numbers[0], std::chrono::seconds(numbers[1])}, numbers[2]};
  return is_usual;
}

// `spare` is what the capacity has beyond max_burst.
template <Amount spare>
bool read_throttle(Words words, core::KeyStep& step) {
  std::array<std::int64_t, 4> numbers = {0, 0, 0, 1};
  const bool is_usual = (words.size() == 4 || words.size() == 5) && read_integers(words.subspan(1), numbers);
  const auto& [burst, count, period, quantity] = numbers;
  if (!is_usual || burst < 0 || burst > kAmountMax) return false;
  step = core::Throttle{words[0], {burst + spare, count, std::chrono::seconds(period), quantity}};
  return true;
}

void write_sum(wire::RespWriter& reply, const core::KeyStepAnswer& answer) {
  reply.integer(std::get<std::int64_t>(answer));
}
void write_bounded(wire::RespWriter& reply, const core::KeyStepAnswer& answer) {
  const auto& sum = std::get<core::BoundedSum>(answer);
  reply.integers(sum.value, sum.applied);
}
template <void (*write)(wire::RespWriter& reply, const core::Verdict& verdict)>
void write_verdict(wire::RespWriter& reply, const core::KeyStepAnswer& answer) {
  write(reply, std::get<core::Verdict>(answer));
}

}  // namespace

// [limited, capacity, remaining, retry_after, reset_after], in seconds; retry_after -1 when allowed.
void write_cell(wire::RespWriter& reply, const core::Verdict& verdict) {
  reply.integers(verdict.is_allowed ? 0 : 1, verdict.limit, verdict.remaining,
                 verdict.is_allowed ? -1 : verdict.retry_after.seconds(), verdict.reset_after.seconds());
}
void write_throttle(wire::RespWriter& reply, const core::Verdict& verdict) {
  reply.integers(verdict.is_allowed ? 1 : 0, verdict.limit, verdict.remaining, verdict.reset_after.seconds(),
                 verdict.retry_after.seconds());
}

constexpr StepForm kIncrStep = {read_add_one<1>, write_sum};
constexpr StepForm kIncrByStep = {read_add<1>, write_sum};
constexpr StepForm kDecrStep = {read_add_one<-1>, write_sum};
constexpr StepForm kDecrByStep = {read_add<-1>, write_sum};
constexpr StepForm kIncrexStep = {read_increx, write_bounded};
constexpr StepForm kQuotaIncrStep = {read_quota_take, write_sum};
constexpr StepForm kCellStep = {read_throttle<1>, write_verdict<write_cell>};
constexpr StepForm kThrottleStep = {read_throttle<0>, write_verdict<write_throttle>};

}  // namespace mete::server::commands
