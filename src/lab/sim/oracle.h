// Oracle: judges admissions. It is a second store that knows nothing of shares: each admission is a plain take there,
// at the true time at which the node made it, and must be allowed.
//
// When a limit is changed, nodes may spend what they hold then: that is the allowance of each of its meters, until the
// window ends. An admission that the second store denies uses it up, and is recorded there by force; but not in a
// bucket, where it would be in the way of all that follow, and where the allowance lasts until it is used.
// Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "lab/sim/scenario.h"
#include "lab/sim/world.h"
#include "store/embedded/embedded_store.h"

namespace mete::sim {

class Oracle {
 public:
  Oracle(World& world, const Scenario& scenario);

  void admitted(std::size_t meter, Amount amount);
  // A client asks a node. One store for all, without shares and without faults, is asked too.
  void asked(std::size_t meter, Amount amount);
  // The same change that the shared store got.
  void define(const Limit& limit);
  void set_override(std::size_t meter, std::optional<Amount> amount);
  void allow(std::size_t meter, Amount amount, Instant until);

  // Counts admissions from now on.
  void restart_count(std::size_t meter) { meters_[meter].counted = meters_[meter].possible = 0; }
  [[nodiscard]] Amount counted(std::size_t meter) const { return meters_[meter].counted; }
  // What that one store has admitted meanwhile.
  [[nodiscard]] Amount possible(std::size_t meter) const { return meters_[meter].possible; }
  [[nodiscard]] Usage usage(std::size_t meter);
  [[nodiscard]] Amount total() const { return total_; }

 private:
  struct Meter {
    Amount allowance = 0;
    Instant allowed_until;
    Amount counted = 0;
    Amount possible = 0;
  };

  [[nodiscard]] store::MeterName name_of(std::size_t meter) const;

  World& world_;
  const Scenario& scenario_;
  store::EmbeddedStore store_;
  store::EmbeddedStore ideal_;
  std::vector<Meter> meters_;
  Amount total_ = 0;
};

}  // namespace mete::sim
