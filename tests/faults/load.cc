#include "faults/load.h"

#include <algorithm>
#include <utility>

#include "net/fiber.h"
#include "support/on_fibers.h"
#include "support/waiting.h"

namespace mete::faults {

using std::chrono::steady_clock;

void Tally::count(const Result<Decision>& answer, std::chrono::nanoseconds took) {
  slowest = std::max(slowest, took);
  if (answer.has_value()) {
    (answer->allowed() ? allowed : denied) += 1;
  } else if (answer.error().code == ErrorCode::kUnavailable) {
    ++unavailable;
  } else if (wrong.empty()) {
    wrong = answer.error().message;
  }
}

Tally& Tally::operator+=(const Tally& other) {
  allowed += other.allowed;
  denied += other.denied;
  unavailable += other.unavailable;
  if (wrong.empty()) wrong = other.wrong;
  slowest = std::max(slowest, other.slowest);
  return *this;
}

Load::Load(int callers, const Call& call, Callers kind) : tallies_(static_cast<std::size_t>(callers)) {
  if (kind == Callers::kOnThreads) {
    for (Tally& tally : tallies_) {
      threads_.emplace_back([this, call, &tally] { ask_on(call, tally); });
    }
    return;
  }
  threads_.emplace_back(
      [this, call] { support::on_fibers(tallies_.size(), [&](std::size_t i) { ask_on(call, tallies_[i]); }); });
}

void Load::ask_on(const Call& call, Tally& tally) {
  while (!is_stopping_) {
    const auto start = steady_clock::now();
    const auto answer = call();
    tally.count(answer, steady_clock::now() - start);
    if (answer.has_value() && answer->allowed()) ++allowed_;
    if (!answer.has_value()) ++failed_;
    // A server that is known to be away is told of at once: a fiber that never waits would keep the others from going
    // on.
    if (!answer.has_value()) net::pause_for(std::chrono::milliseconds(1));
  }
}

Load::~Load() { (void)stop(); }

void Load::await_allowed(Amount count) const {
  constexpr std::chrono::seconds kPatience{60};
  if (!support::becomes_true(kPatience, [&] { return allowed_ >= count; }))
    support::fail("only " + std::to_string(allowed_) + " of " + std::to_string(count) + " calls were allowed");
}

void Load::await_failures(Amount count) const {
  constexpr std::chrono::seconds kPatience{60};
  const Amount before = failed_;
  if (!support::becomes_true(kPatience, [&] { return failed_ >= before + count; }))
    support::fail("only " + std::to_string(failed_ - before) + " of " + std::to_string(count) + " calls have failed");
}

Tally Load::stop() {
  is_stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  Tally sum;
  for (const Tally& tally : tallies_) sum += tally;
  return sum;
}

Limiter open_when_calm(const std::string& url) {
  constexpr std::chrono::seconds kPatience{20};
  Result<Limiter> opened = open(url);
  if (!support::becomes_true(kPatience, [&] { return opened || (opened = open(url)).has_value(); }))
    support::fail(opened.error().message);
  return std::move(*opened);
}

Usage await_usage(const Limiter& limiter, std::string_view limit, std::string_view key) {
  constexpr std::chrono::seconds kPatience{20};
  Result<Usage> usage = limiter.usage(limit, key);
  if (!support::becomes_true(kPatience, [&] { return (usage = limiter.usage(limit, key)).has_value(); }))
    support::fail("it does not come back: " + usage.error().message);
  return *usage;
}

Tally exhaust(int threads, const Load::Call& call) {
  std::vector<Tally> tallies(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (Tally& tally : tallies) {
    running.emplace_back([&call, &tally] {
      while (tally.denied == 0 && tally.wrong.empty()) {
        const auto start = steady_clock::now();
        const auto answer = call();
        tally.count(answer, steady_clock::now() - start);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  Tally sum;
  for (const Tally& tally : tallies) sum += tally;
  return sum;
}

}  // namespace mete::faults
