// What one decision costs: on a hot key, over many keys, from several threads, and in memory.

#include <benchmark/benchmark.h>
#include <mete/mete.h>
#include <unistd.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <latch>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "engine/engine.h"

namespace mete::bench {

namespace {

using namespace std::chrono_literals;

const Instant kStart = Instant::from_unix_seconds(1'700'000'000);

// A bucket that admits everything that a benchmark can ask for: every decision is an admission, and writes.
Limit api_limit() { return bucket("api").amount(1'000'000'000).per(1s); }

std::unique_ptr<engine::Engine> make_engine() {
  auto made = std::make_unique<engine::Engine>(engine::Config{.seed = 42});
  made->define(api_limit(), kStart).value();
  return made;
}

bool take(engine::Engine& engine, std::string_view key, Instant now) {
  const Charge charge{"api", key, 1};
  return engine.take({.charges = {&charge, 1}}, now)->is_allowed;
}

// Keys of 19 bytes, in the random order in which they are asked for: reading the next one costs both sides nothing.
const std::vector<std::string>& shuffled_keys(std::size_t count) {
  static std::map<std::size_t, std::vector<std::string>> made;
  std::vector<std::string>& keys = made[count];
  if (keys.empty()) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    keys.reserve(count);
    for (const std::size_t number : order) {
      char key[20];
      std::snprintf(key, sizeof key, "user:%014zu", number);
      keys.emplace_back(key);
    }
  }
  return keys;
}

// In another order than that of the keys: neighbours in time are none in memory.
template <class Insert>
void insert_all(std::size_t count, Insert insert) {
  std::vector<const std::string*> keys;
  for (const std::string& key : shuffled_keys(count)) keys.push_back(&key);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(2));
  for (const std::string* key : keys) insert(*key);
}

engine::Engine& filled_engine(std::size_t count) {
  static std::map<std::size_t, std::unique_ptr<engine::Engine>> made;
  auto& engine = made[count];
  if (engine == nullptr) {
    engine = make_engine();
    insert_all(count, [&](const std::string& key) { take(*engine, key, kStart); });
  }
  return *engine;
}

void increment(benchmark::State& state) {
  base::Lock lock;
  std::int64_t count = 0;
  for (auto _ : state) {
    lock.lock();
    benchmark::DoNotOptimize(++count);
    lock.unlock();
  }
}
BENCHMARK(increment)->Name("hot_key/increment");

// The time is passed in, as a server passes it that reads the clock once for a batch.
void hot_decision(benchmark::State& state) {
  const auto engine = make_engine();
  Instant now = kStart;
  for (auto _ : state) benchmark::DoNotOptimize(take(*engine, "user:00000000000042", now = now + 100ns));
}
BENCHMARK(hot_decision)->Name("hot_key/decision");

// A sliding window beside a fixed one, on one key: all admitted, and all denied.
void hot_kind(benchmark::State& state, const Limit& limit) {
  const auto engine = std::make_unique<engine::Engine>(engine::Config{.seed = 42});
  engine->define(limit, kStart).value();
  Instant now = kStart;
  for (auto _ : state) benchmark::DoNotOptimize(take(*engine, "user:00000000000042", now = now + 100ns));
}
BENCHMARK_CAPTURE(hot_kind, window, window("api").amount(1'000'000'000).per(1s))->Name("hot_key/window");
BENCHMARK_CAPTURE(hot_kind, sliding, sliding("api").amount(1'000'000'000).per(1s))->Name("hot_key/sliding");
BENCHMARK_CAPTURE(hot_kind, window_denied, window("api").amount(100).per(24h))->Name("hot_key/window_denied");
BENCHMARK_CAPTURE(hot_kind, sliding_denied, sliding("api").amount(100).per(24h))->Name("hot_key/sliding_denied");

// The same over 1 M keys. Each is asked for once in a second, so that of a sliding window every charge begins a slot,
// and after ten seconds one leaves with every charge.
void random_kind(benchmark::State& state, const Limit& limit) {
  constexpr std::size_t kKeys = 1'000'000;
  static std::map<Kind, std::unique_ptr<engine::Engine>> made;
  auto& engine = made[limit.kind()];
  static std::map<Kind, Instant> times;
  Instant& now = times[limit.kind()];
  const auto& keys = shuffled_keys(kKeys);
  if (engine == nullptr) {
    engine = std::make_unique<engine::Engine>(engine::Config{.seed = 42});
    engine->define(limit, kStart).value();
    now = kStart;
    for (std::size_t i = 0; i < 12 * kKeys; ++i) take(*engine, keys[i % kKeys], now = now + 1us);
  }
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(take(*engine, keys[i++ % kKeys], now = now + 1us));
}
BENCHMARK_CAPTURE(random_kind, window, window("api").amount(1000).per(10s))
    ->Name("random_keys_1M/window")
    ->MinTime(0.3);
BENCHMARK_CAPTURE(random_kind, sliding, sliding("api").amount(1000).per(10s))
    ->Name("random_keys_1M/sliding")
    ->MinTime(0.3);

// All that a user of the library sees: arguments checked, clock read, names put to the answer.
void hot_library(benchmark::State& state) {
  auto limiter = open("embedded:").value();
  limiter.define(api_limit()).value();
  for (auto _ : state) {
    const auto decision = limiter.take("api", "user:00000000000042");
    benchmark::DoNotOptimize(decision->allowed());
  }
}
BENCHMARK(hot_library)->Name("hot_key/library");

void flat_map(benchmark::State& state, std::size_t count) {
  const auto& keys = shuffled_keys(count);
  static auto& map = *[&] {
    auto made = std::make_unique<boost::unordered_flat_map<std::string, std::int64_t>>();
    insert_all(count, [&](const std::string& key) { made->emplace(key, 0); });
    return made.release();
  }();
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(++map.find(keys[next])->second);
    if (++next == keys.size()) next = 0;
  }
}
BENCHMARK_CAPTURE(flat_map, 1M, 1'000'000)->Name("random_keys_1M/flat_map")->MinTime(0.3);

void random_decision(benchmark::State& state, std::size_t count) {
  const auto& keys = shuffled_keys(count);
  engine::Engine& engine = filled_engine(count);
  std::size_t next = 0;
  Instant now = kStart;
  for (auto _ : state) {
    benchmark::DoNotOptimize(take(engine, keys[next], now = now + 100ns));
    if (++next == keys.size()) next = 0;
  }
}
BENCHMARK_CAPTURE(random_decision, 1M, 1'000'000)->Name("random_keys_1M/decision")->MinTime(0.3);
BENCHMARK_CAPTURE(random_decision, 10M, 10'000'000)->Name("random_keys_10M/decision")->MinTime(0.3);

double seconds_on(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Seconds {
  double real = 0;
  double processor = 0;  // of all threads
};

// Lets `threads` threads start together and act, each `actions` times.
template <class Act>
Seconds measure_threads(std::size_t threads, std::size_t actions, Act act) {
  std::vector<std::thread> running;
  std::vector<double> processor(threads);
  std::latch start(static_cast<std::ptrdiff_t>(threads) + 1);
  for (std::size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      start.arrive_and_wait();
      const double started = seconds_on(CLOCK_THREAD_CPUTIME_ID);
      for (std::size_t i = 0; i < actions; ++i) act(thread, i);
      processor[thread] = seconds_on(CLOCK_THREAD_CPUTIME_ID) - started;
    });
  }
  start.arrive_and_wait();
  const double started = seconds_on(CLOCK_MONOTONIC);
  for (std::thread& thread : running) thread.join();
  const double real = seconds_on(CLOCK_MONOTONIC) - started;
  return {real, std::accumulate(processor.begin(), processor.end(), 0.0)};
}

// How many times as much two threads do as one, in the same real time (`speedup`) and if each had a processor of its
// own all the time (`speedup_by_processor_time`): on a shared machine processors are taken away, which says nothing of
// the program. Medians of many short rounds, each of which measures both.
template <class Act>
void measure_speedup(benchmark::State& state, std::size_t actions, Act act) {
  constexpr std::size_t kRounds = 101;
  std::vector<double> real;
  std::vector<double> processor;
  for (auto _ : state) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      const auto act_on = [&](std::size_t thread, std::size_t i) { act(thread, round * actions + i); };
      const Seconds one = measure_threads(1, actions, act_on);
      const Seconds two = measure_threads(2, actions, act_on);
      real.push_back(2 * one.real / two.real);
      processor.push_back(4 * one.processor / two.processor);
    }
  }
  state.counters["speedup"] = median(real);
  state.counters["speedup_by_processor_time"] = median(processor);
}

// What the machine itself gives: two threads that share nothing at all.
void threads_control(benchmark::State& state) {
  struct alignas(256) Counter {
    base::Lock lock;
    std::int64_t count = 0;
  };
  Counter counters[2];
  measure_speedup(state, 200'000, [&](std::size_t thread, std::size_t) {
    counters[thread].lock.lock();
    benchmark::DoNotOptimize(++counters[thread].count);
    counters[thread].lock.unlock();
  });
}
BENCHMARK(threads_control)->Name("threads/control")->Iterations(1)->Unit(benchmark::kMillisecond);

void threads_on_own_keys(benchmark::State& state) {
  engine::Engine& engine = filled_engine(1'000'000);
  const auto& keys = shuffled_keys(1'000'000);
  const std::size_t half = keys.size() / 2;
  measure_speedup(state, 20'000,
                  [&](std::size_t thread, std::size_t i) { take(engine, keys[thread * half + i % half], kStart); });
}
BENCHMARK(threads_on_own_keys)->Name("threads/own_keys")->Iterations(1)->Unit(benchmark::kMillisecond);

void threads_on_hot_keys(benchmark::State& state) {
  const auto engine = make_engine();
  const std::string keys[] = {"user:00000000000001", "user:00000000000002"};
  measure_speedup(state, 50'000, [&](std::size_t thread, std::size_t) { take(*engine, keys[thread], kStart); });
}
BENCHMARK(threads_on_hot_keys)->Name("threads/hot_keys")->Iterations(1)->Unit(benchmark::kMillisecond);

double resident_bytes() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  const bool is_read = file != nullptr && std::fscanf(file, "%ld %ld", &total, &resident) == 2;
  if (file != nullptr) std::fclose(file);
  return is_read ? static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

// What the process grows by when 1 M meters are made, as the system sees it.
void memory(benchmark::State& state, const Limit& limit) {
  constexpr std::size_t kMeters = 1'000'000;
  const auto& keys = shuffled_keys(kMeters);
  for (auto _ : state) {
    const double before = resident_bytes();
    const auto engine = std::make_unique<engine::Engine>(engine::Config{.seed = 42});
    engine->define(limit, kStart).value();
    for (const std::string& key : keys) take(*engine, key, kStart);
    state.counters["bytes_per_meter"] = (resident_bytes() - before) / static_cast<double>(kMeters);
  }
}
BENCHMARK_CAPTURE(memory, bucket, api_limit())->Name("memory")->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(memory, sliding_small, sliding("api").amount(100).per(1h))
    ->Name("memory_sliding_100")
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(memory, sliding, sliding("api").amount(1'000'000).per(1h))
    ->Name("memory_sliding_1M")
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// A meter of which much is held: with one hold, and with a million.
class HeldMeter {
 public:
  static constexpr Amount kCapacity = 10'000'000;

  HeldMeter(const Limit& limit, std::size_t holds) : engine_({.seed = 42}), holds_(static_cast<Amount>(holds)) {
    engine_.define(limit, kStart).value();
    for (std::size_t i = 0; i < holds; ++i) hold();
    take(1);
  }
  bool take(Amount cost) {
    const Charge charge{"held", "alice", cost};
    return engine_.take({.charges = {&charge, 1}}, now_)->is_allowed;
  }
  // Half of the holds have to expire before it fits.
  bool denied_take() { return take(kCapacity - holds_ / 2); }
  Amount give() {
    const Charge charge{"held", "alice", 1};
    return engine_.give({&charge, 1}, {}, now_)->amount;
  }
  Amount usage() { return engine_.usage({"held", "alice", 0}, now_)->held; }
  void hold() {
    const Charge charge{"held", "alice", 1};
    now_ = now_ + 1us;
    id_ = "hold:" + std::to_string(next_id_++);
    engine_.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id_}, now_).value();
  }
  void cancel() { engine_.cancel(id_, now_).value(); }

 private:
  engine::Engine engine_;
  const Amount holds_;
  Instant now_ = kStart;
  std::string id_;
  std::uint64_t next_id_ = 1;
};

HeldMeter& held_meter(const Limit& limit, std::size_t holds) {
  static std::map<std::pair<Kind, std::size_t>, std::unique_ptr<HeldMeter>> made;
  auto& meter = made[{limit.kind(), holds}];
  if (meter == nullptr) meter = std::make_unique<HeldMeter>(limit, holds);
  return *meter;
}

void register_held_meters() {
  using Act = void (*)(HeldMeter&);
  const std::pair<const char*, Act> acts[] = {
      {"usage", [](HeldMeter& meter) { benchmark::DoNotOptimize(meter.usage()); }},
      {"take_and_give",
       [](HeldMeter& meter) {
         benchmark::DoNotOptimize(meter.take(1));
         benchmark::DoNotOptimize(meter.give());
       }},
      {"denied_take", [](HeldMeter& meter) { benchmark::DoNotOptimize(meter.denied_take()); }},
      {"hold_and_cancel",
       [](HeldMeter& meter) {
         meter.hold();
         meter.cancel();
       }},
  };
  const std::pair<const char*, Limit> limits[] = {
      {"stock", stock("held").amount(HeldMeter::kCapacity)},
      {"calendar", calendar("held").amount(HeldMeter::kCapacity).per(Unit::kYear)},
      {"sliding", sliding("held").amount(HeldMeter::kCapacity).per(24h)},
      {"bucket", bucket("held").amount(HeldMeter::kCapacity).per(24h * 365)},
  };
  for (const auto& [kind, limit] : limits) {
    for (const auto& [holds, count] : {std::pair("one_hold", 1), std::pair("million_holds", 1'000'000)}) {
      for (const auto& [name, act] : acts) {
        const auto run = [limit = limit, count = count, act = act](benchmark::State& state) {
          HeldMeter& meter = held_meter(limit, static_cast<std::size_t>(count));
          for (auto _ : state) act(meter);
        };
        benchmark::RegisterBenchmark((std::string(holds) + "/" + kind + "/" + name).c_str(), run);
      }
    }
  }
}
[[maybe_unused]] const bool kAreHeldMetersRegistered = (register_held_meters(), true);

}  // namespace

}  // namespace mete::bench
