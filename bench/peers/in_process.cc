// What a decision of Mete costs in process, in the scenarios of in_process.py: one line "NAME nanoseconds" for each, in
// processor time of the threads that decide.

#include <mete/mete.h>

#include <barrier>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "base/lock.h"

namespace mete::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHotDecisions = 2'000'000;
constexpr std::size_t kKeys = 1'000'000;
constexpr const char* kHotKey = "user:00000000000042";

template <class Value>
void keep(Value value) {
  asm volatile("" : : "r"(value) : "memory");
}

double thread_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class Decide>
double measure(std::size_t decisions, Decide decide) {
  const double started = thread_ns();
  for (std::size_t i = 0; i < decisions; ++i) decide(i);
  return (thread_ns() - started) / static_cast<double>(decisions);
}

template <class Decide>
void print(const std::string& name, std::size_t decisions, Decide decide) {
  std::printf("%s %.2f\n", name.c_str(), measure(decisions, decide));
}

// Admits everything that is asked here; and denies everything but the first.
Limit wide() { return bucket("api").amount(1'000'000'000).per(1s); }
Limit narrow() { return bucket("api").amount(1).per(1h); }

void hot(const std::string& name, const Limit& limit) {
  auto limiter = open("embedded:").value();
  limiter.define(limit).value();
  const LimitHandle api = limiter.limit("api");
  const MeterHandle meter = api.meter(kHotKey);
  keep(meter.allow());
  print("direct/" + name, kHotDecisions, [&](std::size_t) { keep(meter.allow()); });
  print("direct_take/" + name, kHotDecisions, [&](std::size_t) { keep(meter.take()->is_allowed); });
  print("hot_key/" + name, kHotDecisions, [&](std::size_t) { keep(api.allow(kHotKey)); });
  print("hot_key_take/" + name, kHotDecisions, [&](std::size_t) { keep(api.take(kHotKey)->is_allowed); });
  print("by_name/" + name, kHotDecisions, [&](std::size_t) { keep(limiter.allow("api", kHotKey)); });
  print("by_name_take/" + name, kHotDecisions, [&](std::size_t) {
    const auto decision = limiter.take("api", kHotKey);
    keep(decision->is_allowed);
  });
}

void two_threads() {
  auto limiter = open("embedded:").value();
  limiter.define(wide()).value();
  const LimitHandle api = limiter.limit("api");
  const std::string keys[] = {"user:00000000000001", "user:00000000000002"};
  const auto decide = [&](std::size_t thread) {
    return measure(kHotDecisions, [&](std::size_t) { keep(api.allow(keys[thread])); });
  };
  std::printf("threads/one %.2f\n", decide(0));
  std::barrier start(2);
  double ns[2] = {};
  std::vector<std::thread> running;
  for (std::size_t thread = 0; thread < 2; ++thread) {
    running.emplace_back([&, thread] {
      start.arrive_and_wait();
      ns[thread] = decide(thread);
    });
  }
  for (std::thread& thread : running) thread.join();
  std::printf("threads/two %.2f\n", (ns[0] + ns[1]) / 2);
}

void many_keys() {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKeys; ++i) {
    char key[20];
    std::snprintf(key, sizeof key, "user:%014zu", i * 7'368'787 % kKeys);
    keys.emplace_back(key);
  }
  auto limiter = open("embedded:").value();
  limiter.define(wide()).value();
  const LimitHandle api = limiter.limit("api");
  // A walk by a step that has no divisor in common with their number meets every key once, in no order.
  for (std::size_t i = 0; i < kKeys; ++i) keep(api.allow(keys[i * 387'420'489 % kKeys]));
  print("keys_1M", kKeys, [&](std::size_t i) { keep(api.allow(keys[i])); });
}

void bare_increment() {
  base::Lock lock;
  std::int64_t count = 0;
  print("increment", kHotDecisions, [&](std::size_t) {
    lock.lock();
    keep(++count);
    lock.unlock();
  });
}

}  // namespace

}  // namespace mete::bench

int main() {
  mete::bench::bare_increment();
  mete::bench::hot("admitted", mete::bench::wide());
  mete::bench::hot("denied", mete::bench::narrow());
  mete::bench::two_threads();
  mete::bench::many_keys();
}
