// What a decision from the local share costs, beside the same take without escrow: both stores in this process, asked
// in turns for short slices, and judged by the processor time of the thread that asks. What draws and tending cost in
// other threads is told beside it.
//
// Prints one line of JSON for each number of keys.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "escrow/escrow_store.h"
#include "store/embedded/embedded_store.h"

namespace mete::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTakesPerSlice = 100'000;
constexpr int kWarmUpSlices = 10;
constexpr std::size_t kFillingThreads = 16;

Limit api_limit(Scope scope) { return window("api").amount(1'000'000'000'000).per(24h * 30).scope(scope); }

// Time at a fraction of its pace: a busy machine may take longer to ask for every key once than shares take to be idle
// and go back. Reading it costs what reading the time costs.
class SlowClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    constexpr std::uint64_t kSlowness = 256;
    return Instant::from_ns(
        (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec)) /
        kSlowness);
  }
};

std::unique_ptr<store::Store> plain_store() {
  auto made = std::make_unique<store::EmbeddedStore>(Options{});
  made->define(api_limit(Scope::kNode)).value();
  return made;
}

std::unique_ptr<escrow::EscrowStore> escrow_store(const Clock& clock) {
  auto made = escrow::EscrowStore::open({.local = std::make_unique<store::EmbeddedStore>(Options{}),
                                         .shared = std::make_unique<store::EmbeddedStore>(Options{}),
                                         .node = "bench",
                                         .incarnation = 1,
                                         .clock = &clock})
                  .value();
  made->define(api_limit(Scope::kEscrow)).value();
  return made;
}

// Keys of 19 bytes, in a random order.
std::vector<std::string> make_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t number = 0; number < count; ++number) {
    const std::string digits = std::to_string(number);
    keys.push_back("user:" + std::string(14 - digits.size(), '0') + digits);
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  return keys;
}

// Every key is asked for twice. A first take waits for its draw: many wait at a time.
void fill(store::Store& store, const std::vector<std::string>& keys) {
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < kFillingThreads; ++first) {
    threads.emplace_back([&store, &keys, first] {
      for (std::size_t i = first; i < keys.size(); i += kFillingThreads) {
        const Charge charge{"api", keys[i], 1};
        for (int again = 0; again < 2; ++again) CHECK(store.take({.charges = {&charge, 1}})->is_allowed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

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

// A store, and what its slices have cost.
class Side {
 public:
  Side(store::Store& store, const std::vector<std::string>& keys) : store_(store), keys_(keys) {}

  void take_slice() {
    for (std::size_t i = 0; i < kTakesPerSlice; ++i) {
      const Charge charge{"api", keys_[next_], 1};
      CHECK(store_.take({.charges = {&charge, 1}})->is_allowed);
      if (++next_ == keys_.size()) next_ = 0;
    }
  }

  double measure_slice() {
    const double thread_start = seconds_on(CLOCK_THREAD_CPUTIME_ID);
    const double process_start = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    take_slice();
    const double in_thread = seconds_on(CLOCK_THREAD_CPUTIME_ID) - thread_start;
    const double in_process = seconds_on(CLOCK_PROCESS_CPUTIME_ID) - process_start;
    thread_ns_.push_back(in_thread * 1e9 / kTakesPerSlice);
    process_ns_.push_back(in_process * 1e9 / kTakesPerSlice);
    return in_thread;
  }

  [[nodiscard]] double thread_ns() const { return median(thread_ns_); }
  [[nodiscard]] double process_ns() const { return median(process_ns_); }

 private:
  store::Store& store_;
  const std::vector<std::string>& keys_;
  std::size_t next_ = 0;
  std::vector<double> thread_ns_;
  std::vector<double> process_ns_;
};

void measure(std::size_t key_count, int rounds) {
  const std::vector<std::string> keys = make_keys(key_count);
  const auto plain = plain_store();
  const SlowClock clock;
  const auto shares = escrow_store(clock);
  fill(*plain, keys);
  fill(*shares, keys);
  Side without(*plain, keys);
  Side with(*shares, keys);
  for (int i = 0; i < kWarmUpSlices; ++i) {
    without.take_slice();
    with.take_slice();
  }
  const escrow::SharesStatistics before = shares->status().shares;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double seconds_without = without.measure_slice();
    ratios.push_back(with.measure_slice() / seconds_without);
  }
  const escrow::SharesStatistics after = shares->status().shares;
  const auto decisions = static_cast<double>(after.decisions - before.decisions);
  std::printf(
      "{\"keys\":%zu,\"ratio\":%.4f,\"without_ns\":%.1f,\"with_ns\":%.1f,\"with_process_ns\":%.1f,"
      "\"local\":%.6f,\"draws_per_take\":%.6f}\n",
      key_count, median(ratios), without.thread_ns(), with.thread_ns(), with.process_ns(),
      static_cast<double>(after.local_decisions - before.local_decisions) / decisions,
      static_cast<double>(after.shares.draws - before.shares.draws) / decisions);
  std::fflush(stdout);
}

}  // namespace

}  // namespace mete::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s ROUNDS KEYS...\n", argv[0]);
    return 2;
  }
  for (int i = 2; i < argc; ++i) mete::bench::measure(std::strtoull(argv[i], nullptr, 10), std::atoi(argv[1]));
  return 0;
}
