// Random histories of keys: every operation over a few keys, with clock steps to where something is due.
#include <array>
#include <limits>
#include <random>

#include "model/key_history.h"
#include "model/model_keys.h"

namespace mete::model {

namespace {

using namespace std::chrono_literals;

constexpr Duration kFarAway = 24h * 36500;

class KeyGenerator {
 public:
  KeyGenerator(std::uint64_t seed, const Times& times) : times_(times), engine_(seed) {}

  KeyHistory make(int operations) {
    KeyHistory history;
    for (int i = 0; i < operations; ++i) {
      const Instant target = clock_.now() + step();
      // What expires a hundred years from now must be told too.
      if (target >= times_.earliest && target + kFarAway < times_.latest) clock_.set(target);
      history.push_back(any());
      (void)execute(model_, history.back());
    }
    return history;
  }

 private:
  std::int64_t between(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(engine_);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(std::size(list)) - 1))];
  }

  std::string key() { return pick(std::array<std::string, 4>{"k1", "k2", "k3", "k4"}); }

  // So many of the clock's smallest steps.
  Duration steps(std::int64_t count) { return Duration::from_ns(count * times_.resolution.ns()); }
  Duration length(Duration min, Duration max) {
    return steps(between(min.ns() / times_.resolution.ns(), max.ns() / times_.resolution.ns()));
  }

  // To just before, at or after the end of some key, or somewhere near; sometimes back.
  Duration step() {
    const auto choice = between(0, 9);
    if (choice < 3) return {};
    if (choice < 6) {
      const Instant end = model_.keys().expires_at(key()).value().value_or(Instant::max());
      if (end == Instant::max()) return {};
      return round_up(end, times_.resolution) - clock_.now() + steps(between(-1, 1));
    }
    if (choice < 8) return length(0s, 3s);
    if (choice < 9) return one_in(4) ? length(0h, 100h) : length(0s, 100s);
    return length(-2s, 0s);
  }

  std::int64_t number() {
    using Limits = std::numeric_limits<std::int64_t>;
    if (one_in(8))
      return pick(std::array<std::int64_t, 5>{Limits::max(), Limits::min(), -1, kAmountMax, kAmountMax + 1});
    return between(-6, 12);
  }

  store::Expiry expiry() {
    switch (between(0, 4)) {
      case 0:
        return store::Expiry::none();
      case 1:
        return store::Expiry::in(length(steps(-1), 5s));
      case 2:
        return store::Expiry::in(pick(std::array<Duration, 3>{times_.resolution, 1s, kFarAway}));
      case 3:
        return store::Expiry::at(clock_.now() + Duration::from_ns(between(-1, 1) * length(0s, 2s).ns()));
      default:
        return store::Expiry::keep();
    }
  }

  store::QuotaRule quota() {
    return {pick(std::array<Amount, 5>{1, 3, 10, 10, kAmountMax}), pick(std::array<Duration, 4>{1s, 7s, 7s, 60s})};
  }

  [[nodiscard]] Duration odd_period() const {
    const Duration finest = 2'000'000'011ns;
    return is_multiple(finest, times_.resolution) ? finest : Duration(2'000'003us);
  }

  store::ThrottleRequest throttle() {
    return {.capacity = pick(std::array<Amount, 5>{1, 2, 5, 5, kAmountMax}),
            .count = pick(std::array<Amount, 5>{1, 3, 3, 7, 1'000'000'000}),
            .period = pick(std::array<Duration, 4>{1ms, 1s, 1s, odd_period()}),
            .quantity = one_in(20) ? kAmountMax : between(0, 3)};
  }

  std::optional<std::int64_t> bound() { return one_in(2) ? std::optional(number()) : std::nullopt; }

  KeyOperation any() {
    KeyOperation operation;
    operation.at = clock_.now();
    operation.resolution = times_.resolution;
    operation.call = static_cast<KeyCall>(between(0, kKeyCalls - 1));
    operation.key = key();
    operation.by = number();
    operation.expiry = expiry();
    operation.expiry_condition = static_cast<store::ExpiryCondition>(between(0, 5));
    operation.set.value = number();
    operation.set.condition = static_cast<store::SetCondition>(between(0, 2));
    operation.set.wants_old = one_in(4);
    operation.set.reach = one_in(2) ? store::KeyReach::kAnyKey : store::KeyReach::kAllButQuotas;
    operation.bounded.lower = bound();
    operation.bounded.upper = bound();
    operation.bounded.saturate = one_in(2);
    operation.bounded.expiry_only_if_none = one_in(2);
    operation.quota = quota();
    operation.throttle = throttle();
    return operation;
  }

  Times times_;
  std::mt19937_64 engine_;
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  ModelKeys model_{clock_};
};

}  // namespace

KeyHistory random_key_history(std::uint64_t seed, int operations, const Times& times) {
  return KeyGenerator(seed, times).make(operations);
}

}  // namespace mete::model
