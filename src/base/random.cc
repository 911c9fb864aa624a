#include "base/random.h"

#include <pthread.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <utility>

#include "base/check.h"
#include "base/fixed_random.h"
#include "base/hash.h"

namespace mete::base {

namespace {

// How often this process has become another one, which must not have the numbers of the one it was.
std::atomic<std::uint32_t> forks{0};

thread_local FixedRandom* fixed_random = nullptr;

}  // namespace

FixedRandom::FixedRandom(std::uint64_t seed) : state_(seed) {
  CHECK(fixed_random == nullptr);
  fixed_random = this;
}

FixedRandom::~FixedRandom() { fixed_random = nullptr; }

FixedRandom* FixedRandom::current() { return fixed_random; }

std::uint64_t FixedRandom::next() { return hash_number(++state_, 0); }

// The system is asked for as many at once as it gives without being interrupted: a call of it costs more than an id.
std::uint64_t random_number() {
  if (FixedRandom* const fixed = FixedRandom::current()) return fixed->next();
  constexpr std::size_t kNumbers = 256 / sizeof(std::uint64_t);
  thread_local std::array<std::uint64_t, kNumbers> numbers;
  thread_local std::size_t left = 0;
  thread_local std::uint32_t forks_seen = 0;
  static const bool kIsWatching = ::pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  CHECK(kIsWatching);
  const std::uint32_t forks_now = forks.load(std::memory_order_relaxed);
  if (left == 0 || forks_seen != forks_now) {
    CHECK(::getrandom(numbers.data(), sizeof numbers, 0) == sizeof numbers);
    left = kNumbers;
    forks_seen = forks_now;
  }
  return std::exchange(numbers[--left], 0);
}

std::string random_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id(32, '0');
  for (std::size_t half = 0; half < id.size(); half += 16) {
    std::uint64_t bits = random_number();
    for (std::size_t digit = 0; digit < 16; ++digit, bits >>= 4) id[half + digit] = kDigits[bits & 15];
  }
  return id;
}

}  // namespace mete::base
