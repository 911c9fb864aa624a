// Random histories through each store and through the model. METE_SEED replays one; METE_TEST_LONG=1 runs many more.
#include "model/history.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <random>

#include "store/embedded/embedded_store.h"
#include "support/simulated_disk.h"

namespace mete::model {
namespace {

Search search_from_environment() {
  Search search;
  if (const char* seed = std::getenv("METE_SEED")) {
    search.seed = std::strtoull(seed, nullptr, 10);
    search.histories = 1;
  } else if (const char* is_long = std::getenv("METE_TEST_LONG"); is_long != nullptr && *is_long == '1') {
    search.histories = 100'000;
  }
  return search;
}

struct StoreCase {
  std::string name;
  LimiterFactory factory;
  Between between = {};
  int slowness = 1;  // so many times fewer histories

  friend void PrintTo(const StoreCase& store, std::ostream* out) { *out << store.name; }
};

class Histories : public ::testing::TestWithParam<StoreCase> {};

TEST_P(Histories, AnswerAsTheModel) {
  Search search = search_from_environment();
  search.histories = (search.histories + GetParam().slowness - 1) / GetParam().slowness;
  const auto difference = find_difference(subject_of(GetParam().factory, GetParam().between), search);
  EXPECT_FALSE(difference.has_value()) << difference.value_or("");
}

// A store on a disk, which is closed and opened again every few operations, and sometimes writes a snapshot. Nothing
// may be lost by that, and nothing come back.
class Restarts {
 public:
  Limiter begin(const Clock& clock) {
    clock_ = &clock;
    disk_ = std::make_unique<support::SimulatedDisk>();
    random_.seed(1);
    return open_again();
  }

  void happen(Limiter& limiter) {
    constexpr unsigned kEvery = 3;
    if (random_() % kEvery != 0) return;
    if (random_() % kEvery == 0) {
      EXPECT_TRUE(store_->persistence()->save().has_value());
    }
    limiter = open("embedded:").value();  // the directory is for one at a time
    limiter = open_again();
  }

 private:
  Limiter open_again() {
    auto opened = store::EmbeddedStore::open({.directory = "data", .files = disk_.get(), .has_threads = false},
                                             {.clock = clock_});
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    store_ = opened->get();
    return Limiter(std::move(*opened));
  }

  const Clock* clock_ = nullptr;
  std::unique_ptr<support::SimulatedDisk> disk_;
  std::minstd_rand random_;
  store::Store* store_ = nullptr;
};

StoreCase restarted() {
  const auto restarts = std::make_shared<Restarts>();
  return {"restarted", [restarts](const Clock& clock) { return restarts->begin(clock); },
          [restarts](Limiter& limiter) { restarts->happen(limiter); }, 8};
}

INSTANTIATE_TEST_SUITE_P(Stores, Histories,
                         ::testing::Values(StoreCase{"embedded",
                                                     [](const Clock& clock) {
                                                       return open("embedded:", {.clock = &clock}).value();
                                                     }},
                                           restarted()),
                         [](const auto& store) { return store.param.name; });

}  // namespace
}  // namespace mete::model
