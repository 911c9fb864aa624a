// Metrics: what the server counts. Every event loop counts for itself, without sharing a cache line with another; a
// reader adds them up.
//
// Thread safety: LoopMetrics is written by its loop alone and read from any thread.
#pragma once

#include <mete/decision.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "net/event_loop.h"
#include "server/decisions/decision_observer.h"
#include "server/observation/busy_keys.h"

namespace mete::server {

// A counter with one writer.
class Counter {
 public:
  void add(std::uint64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct DecisionCounts {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t shadow_denied = 0;  // would have been denied, had the limit not been a shadow
};

// How long requests took, in powers of two: bucket i counts those up to 2^i microseconds.
class LatencyHistogram {
 public:
  static constexpr std::size_t kBuckets = 21;  // up to about a second; the last one has the rest

  void observe(std::uint64_t ns, std::uint64_t count) {
    const std::uint64_t us = (ns + 999) / 1000;
    const auto bucket = static_cast<std::size_t>(us <= 1 ? 0 : std::bit_width(us - 1));
    counts_[bucket < kBuckets ? bucket : kBuckets].add(count);
    sum_ns_.add(ns * count);
  }
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const { return counts_[bucket].get(); }
  [[nodiscard]] std::uint64_t sum_ns() const { return sum_ns_.get(); }

 private:
  std::array<Counter, kBuckets + 1> counts_;
  Counter sum_ns_;
};

class alignas(64) LoopMetrics final : public DecisionObserver {
 public:
  explicit LoopMetrics(const net::EventLoop& loop) : loop_(loop) {}

  void on_decision(std::span<const Charge> charges, bool is_allowed, std::uint16_t violated) override {
    const std::uint32_t bits = violated;
    for (std::size_t index = 0; index < charges.size(); ++index) {
      const bool is_violated = (bits >> index & 1U) != 0;
      Counts& counts = counts_of(charges[index].limit);
      (is_allowed ? counts.allowed : counts.denied).add();
      if (is_allowed && is_violated) counts.shadow_denied.add();
      busy_keys.observe(charges[index], is_allowed, loop_.now_ns());
    }
  }

  // Stands for the limits that are too many to be counted one by one.
  static constexpr std::string_view kOtherLimits = "(other)";

  // Adds this loop's counts by limit to `sums`.
  void add_decisions_to(std::map<std::string, DecisionCounts>& sums) const;

  BusyKeys busy_keys;
  Counter commands;
  Counter command_errors;
  Counter http_requests;
  Counter grpc_calls;
  Counter grpc_late;                  // calls whose answer came after their time
  std::array<Counter, 17> grpc_ends;  // of calls, by their status
  Counter protocol_errors;
  LatencyHistogram latency;

 private:
  struct Counts {
    Counter allowed;
    Counter denied;
    Counter shadow_denied;
  };
  // Limits are few, and only those that exist come here; but they can be dropped and others made, for ever.
  static constexpr std::size_t kLimitsMax = 10'000;

  // What was found lately, one limit for each place.
  struct Found {
    std::string_view limit;  // a key of the map
    Counts* counts = nullptr;
  };
  static constexpr std::size_t kFoundMax = 16;

  Counts& counts_of(std::string_view limit) {
    Found& found = found_[limit.empty() ? 0 : (limit.size() + static_cast<unsigned char>(limit.back())) % kFoundMax];
    if (found.counts == nullptr || !base::equal_bytes(limit, found.limit)) found = find_counts(limit);
    return *found.counts;
  }
  Found find_counts(std::string_view limit);

  const net::EventLoop& loop_;  // for its time
  std::array<Found, kFoundMax> found_;
  mutable std::mutex mutex_;  // guards the map's shape: taken to add a limit, and to read
  std::unordered_map<std::string, std::unique_ptr<Counts>> by_limit_;
};

}  // namespace mete::server
