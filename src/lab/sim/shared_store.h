// SharedStore: the store that the nodes draw from: the real engine, with the true time for its clock, that fails when
// it is told to. It enters into the ledger what it grants and gets back, and checks that no id has an effect twice.
// Thread safety: one thread.
#pragma once

#include "escrow/shares.h"
#include "escrow/terms.h"
#include "lab/sim/ledger.h"
#include "lab/sim/scenario.h"
#include "lab/sim/world.h"
#include "store/embedded/embedded_store.h"

namespace mete::sim {

class SharedStore {
 public:
  enum class Health : std::uint8_t {
    kFine,
    kAway,     // does nothing, and says that it is unavailable
    kForgets,  // the same, having done it
    kFull,     // has no room for new holds
  };

  SharedStore(World& world, const Scenario& scenario, Ledger& ledger);

  Result<escrow::OrderAnswer> carry_out(const escrow::Order& order, int life, std::size_t meter);
  void set_health(Health health) { health_ = health; }

  void define(const Limit& limit);
  void set_override(std::size_t meter, std::optional<Amount> amount);
  [[nodiscard]] Usage usage(std::size_t meter);
  [[nodiscard]] std::uint64_t orders() const { return orders_; }

 private:
  [[nodiscard]] store::MeterName name_of(std::size_t meter) const;
  Result<escrow::OrderAnswer> draw(const escrow::Order& order, int life, std::size_t meter);
  void check_books(std::size_t meter);
  Result<escrow::OrderAnswer> take(const escrow::Order& order, std::size_t meter);
  Result<escrow::OrderAnswer> settle(const escrow::Order& order);

  World& world_;
  const Scenario& scenario_;
  Ledger& ledger_;
  store::EmbeddedStore store_;
  Health health_ = Health::kFine;
  std::uint64_t orders_ = 0;
};

}  // namespace mete::sim
