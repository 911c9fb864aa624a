// DecisionObserver: told of every decision, for the metrics.
#pragma once

#include <mete/decision.h>

#include <cstdint>
#include <span>

namespace mete::server {

class DecisionObserver {
 public:
  DecisionObserver() = default;
  DecisionObserver(const DecisionObserver&) = delete;
  DecisionObserver& operator=(const DecisionObserver&) = delete;
  virtual ~DecisionObserver() = default;

  // Bit i of `violated`: charge i did not fit.
  virtual void on_decision(std::span<const Charge> charges, bool is_allowed, std::uint16_t violated) = 0;
};

// For requests that decide nothing.
class NoDecisions final : public DecisionObserver {
 public:
  void on_decision(std::span<const Charge> /*charges*/, bool /*is_allowed*/, std::uint16_t /*violated*/) override {}
};

}  // namespace mete::server
