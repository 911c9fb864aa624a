// Random histories of keys: every operation over a few keys, with clock steps to where something is due.
#include <array>
#include <limits>
#include <random>

#include "model/key_history.h"
#include "model/model_keys.h"

namespace mete::model {

namespace {

using namespace std::chrono_literals;

constexpr Instant kYear2400 = Instant::from_unix_seconds(13'569'465'600);

class KeyGenerator {
 public:
  explicit KeyGenerator(std::uint64_t seed) : engine_(seed) {}

  KeyHistory make(int operations) {
    KeyHistory history;
    for (int i = 0; i < operations; ++i) {
      const Duration length = step();
      if (clock_.now() + length < kYear2400) clock_.advance(length);
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

  // To just before, at or after the end of some key, or somewhere near; sometimes back.
  Duration step() {
    const auto choice = between(0, 9);
    if (choice < 3) return {};
    if (choice < 6) {
      const Instant end = model_.expires_at(key()).value().value_or(Instant::max());
      return end == Instant::max() ? Duration() : end - clock_.now() + Duration::from_ns(between(-1, 1));
    }
    if (choice < 8) return Duration::from_ns(between(0, Duration(3s).ns()));
    if (choice < 9) return Duration::from_ns(between(0, one_in(4) ? Duration(100h).ns() : Duration(100s).ns()));
    return Duration::from_ns(-between(0, Duration(2s).ns()));
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
        return store::Expiry::in(Duration::from_ns(between(-1, Duration(5s).ns())));
      case 2:
        return store::Expiry::in(pick(std::array<Duration, 3>{1ns, 1s, 24h * 36500}));
      case 3:
        return store::Expiry::at(clock_.now() + Duration::from_ns(between(-1, 1) * between(0, Duration(2s).ns())));
      default:
        return store::Expiry::keep();
    }
  }

  store::QuotaRule quota() {
    return {pick(std::array<Amount, 5>{1, 3, 10, 10, kAmountMax}), pick(std::array<Duration, 4>{1s, 7s, 7s, 60s})};
  }

  store::ThrottleRequest throttle() {
    return {.capacity = pick(std::array<Amount, 5>{1, 2, 5, 5, kAmountMax}),
            .count = pick(std::array<Amount, 5>{1, 3, 3, 7, 1'000'000'000}),
            .period = pick(std::array<Duration, 4>{1ms, 1s, 1s, Duration::from_ns(2'000'000'011)}),
            .quantity = one_in(20) ? kAmountMax : between(0, 3)};
  }

  std::optional<std::int64_t> bound() { return one_in(2) ? std::optional(number()) : std::nullopt; }

  KeyOperation any() {
    KeyOperation operation;
    operation.at = clock_.now();
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

  std::mt19937_64 engine_;
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  ModelKeys model_{clock_};
};

}  // namespace

KeyHistory random_key_history(std::uint64_t seed, int operations) { return KeyGenerator(seed).make(operations); }

}  // namespace mete::model
