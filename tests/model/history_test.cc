// Random histories through each store and through the model. METE_SEED replays one; METE_TEST_LONG=1 runs many more.
#include "model/history.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>

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

  friend void PrintTo(const StoreCase& store, std::ostream* out) { *out << store.name; }
};

class Histories : public ::testing::TestWithParam<StoreCase> {};

TEST_P(Histories, AnswerAsTheModel) {
  const auto difference = find_difference(subject_of(GetParam().factory), search_from_environment());
  EXPECT_FALSE(difference.has_value()) << difference.value_or("");
}

INSTANTIATE_TEST_SUITE_P(Stores, Histories,
                         ::testing::Values(StoreCase{
                             "embedded",
                             [](const Clock& clock) { return open("embedded:", {.clock = &clock}).value(); }}),
                         [](const auto& store) { return store.param.name; });

}  // namespace
}  // namespace mete::model
