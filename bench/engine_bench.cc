// What one decision costs: on a hot key, over many keys, from several threads, and in memory.

#include <benchmark/benchmark.h>
#include <mete/mete.h>
#include <unistd.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
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

// All that a user of the library sees: arguments checked, clock read, names put to the answer.
void hot_library(benchmark::State& state) {
  auto limiter = open("embedded:").value();
  limiter.define(api_limit()).value();
  for (auto _ : state) benchmark::DoNotOptimize(limiter.take("api", "user:00000000000042")->allowed());
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

// Decisions a second of `threads` threads that start together, each on keys of its own.
template <class Decide>
double measure_speed(std::size_t threads, std::size_t decisions, Decide decide) {
  std::vector<std::thread> running;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([=] {
      for (std::size_t i = 0; i < decisions; ++i) decide(thread, i);
    });
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(threads * decisions) / seconds.count();
}

template <class Decide>
void threads_benchmark(benchmark::State& state, std::size_t decisions, Decide decide) {
  double sums[3] = {};
  for (auto _ : state) {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
      sums[threads] += measure_speed(threads, decisions, decide);
    }
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["speed:1"] = sums[1] / rounds;
  state.counters["speed:2"] = sums[2] / rounds;
}

void threads(benchmark::State& state) {
  engine::Engine& engine = filled_engine(1'000'000);
  const auto& keys = shuffled_keys(1'000'000);
  const std::size_t half = keys.size() / 2;
  threads_benchmark(state, half,
                    [&](std::size_t thread, std::size_t i) { take(engine, keys[thread * half + i], kStart); });
}
BENCHMARK(threads)->Name("threads")->Iterations(2)->UseRealTime();

void hot_threads(benchmark::State& state) {
  const auto engine = make_engine();
  const std::string keys[] = {"user:00000000000001", "user:00000000000002"};
  threads_benchmark(state, 3'000'000, [&](std::size_t thread, std::size_t) { take(*engine, keys[thread], kStart); });
}
BENCHMARK(hot_threads)->Name("hot_threads")->Iterations(2)->UseRealTime();

double resident_bytes() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  const bool is_read = file != nullptr && std::fscanf(file, "%ld %ld", &total, &resident) == 2;
  if (file != nullptr) std::fclose(file);
  return is_read ? static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

// What the process grows by when 1 M meters are made, as the system sees it.
void memory(benchmark::State& state) {
  constexpr std::size_t kMeters = 1'000'000;
  const auto& keys = shuffled_keys(kMeters);
  for (auto _ : state) {
    const double before = resident_bytes();
    const auto engine = make_engine();
    for (const std::string& key : keys) take(*engine, key, kStart);
    state.counters["bytes_per_meter"] = (resident_bytes() - before) / static_cast<double>(kMeters);
  }
}
BENCHMARK(memory)->Name("memory")->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace mete::bench
