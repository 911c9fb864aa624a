// An engine with explicit times, for the tests of what users of a store cannot see: upkeep, memory and bounds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/engine.h"

namespace mete::engine::testing {

using namespace std::chrono_literals;

inline constexpr Instant kStart = Instant::from_unix_seconds(1'700'000'000);

inline std::string key_of(std::size_t number) { return "key:" + std::to_string(number); }

// Short calls with a time that tests move.
class Subject {
 public:
  explicit Subject(Config config = {})
      : engine([&config] {
          config.seed = 42;
          return config;
        }()) {}

  Result<core::Verdict> try_take(std::string_view limit, std::string_view key, Amount cost, std::string_view id = {}) {
    const Charge charge{limit, key, cost};
    return engine.take({.charges = {&charge, 1}, .id = id}, now);
  }
  Amount take(std::string_view limit, std::string_view key, Amount cost = 1) {
    return try_take(limit, key, cost).value().taken;
  }
  Amount give(std::string_view limit, std::string_view key, Amount cost = 1) {
    const Charge charge{limit, key, cost};
    return engine.give({&charge, 1}, {}, now).value().amount;
  }
  Result<core::Verdict> try_hold(const Charge& charge, Duration ttl, std::string_view id, std::string_view tag = {}) {
    return engine.hold({.charges = {&charge, 1}, .ttl = ttl, .id = id, .tag = tag}, now);
  }
  Usage usage(std::string_view limit, std::string_view key) { return engine.usage({limit, key, 0}, now).value(); }

  // Round and round, until every bucket was met, also those that a resize moved.
  void sweep_all() {
    for (int i = 0; i < 3; ++i) engine.sweep(engine.buckets(), now);
  }
  [[nodiscard]] Statistics statistics() const { return engine.statistics(); }

  Engine engine;
  Instant now = kStart;
};

}  // namespace mete::engine::testing
