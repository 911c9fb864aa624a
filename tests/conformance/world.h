// World: a store under test, and its time.
//
// The suite asks every store the same questions and knows nothing of the store. Time is the store's own: tests move it
// and wait for nothing. Databases may be shared and keep what earlier runs left there, so tests name their limits,
// ids and tags with Conformance::unique(), and ask for nothing that depends on what else is there.
//
// Adding a store: a World for it, and a row in stores.cc. What cannot hold there: exceptions.cc.
#pragma once

#include <mete/mete.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/store.h"

namespace mete::conformance {

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  virtual Limiter& limiter() = 0;
  // What is behind the limiter: for what only the server asks of it.
  virtual store::Store& store() = 0;
  virtual Instant now() = 0;
  // Moves the store's clock, or waits: for this long at least, and to the next time that the clock can tell.
  virtual void advance(Duration step) = 0;
  // Makes it `at`, for the tests of calendars. What exists before may be gone after it.
  virtual void travel_to(Instant at) = 0;
  // Sets the clock behind the store back; false if this store's clock cannot be.
  virtual bool set_clock_back(Duration step) = 0;
  // The smallest step of the store's clock: an exact wait is exact to this.
  [[nodiscard]] virtual Duration clock_resolution() const = 0;
};

struct StoreUnderTest {
  std::string name;
  std::unique_ptr<World> (*make)() = nullptr;
  bool is_slow = false;        // each call is a round trip, or several operations of other stores
  Scope scope = Scope::kNode;  // of all limits

  friend void PrintTo(const StoreUnderTest& store, std::ostream* out) { *out << store.name; }
};

const std::vector<StoreUnderTest>& stores();

}  // namespace mete::conformance
