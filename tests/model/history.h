// History: a list of calls with their times, run through a limiter and through the model; every answer must be the
// same.
//
//     const auto failure = find_difference(factory, {.seed = 42});
//     EXPECT_FALSE(failure) << *failure;     // the smallest history that still differs, readable
//
// A history is concrete: it has no random in it, and any part of it can be run. Holds without an id of their own are
// called "$1", "$2", … in it, whatever id the limiter gives them.
#pragma once

#include <mete/mete.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/times.h"

namespace mete::model {

enum class Call : std::uint8_t {
  kDefine,
  kDrop,
  kOverride,
  kClearOverride,
  kTake,
  kGive,
  kHold,
  kCommit,
  kCommitAmounts,
  kCommitOverage,
  kCancel,
  kExtend,
  kFindHold,
  kHolds,
  kHoldsTagged,
  kUsage,
  kReconcile,
  kLimits,
};

struct OwnedCharge {
  std::string limit;
  std::string key;
  Amount cost = 1;
};

std::vector<Charge> views_of(const std::vector<OwnedCharge>& charges);

struct Operation {
  Instant at;                                         // what the clock says; it may have been set back
  Duration resolution = std::chrono::nanoseconds(1);  // its answer tells waits rounded up to this
  Call call = Call::kUsage;
  std::vector<OwnedCharge> charges;  // of calls on one meter: the first one
  Mode mode = Mode::kTake;
  std::string id;
  std::string nickname;  // of a hold without an id: "$1"
  std::string tag;
  Duration ttl;
  std::vector<Amount> amounts;
  Amount amount = 0;
  std::optional<Limit> limit;
};

struct History {
  std::vector<Operation> operations;
  // Ask for the usage of every meter that was touched, after each operation. Off in half of the histories: to look at a
  // meter may change when the limiter settles it.
  bool is_probed = false;
};

std::string to_text(const Operation& operation);

// Something that answers operations, in words.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  virtual std::string execute(const Operation& operation) = 0;
  virtual Result<Usage> usage(const std::string& limit, const std::string& key) = 0;
};

using SubjectFactory = std::function<std::unique_ptr<Subject>(const Clock&)>;
using LimiterFactory = std::function<Limiter(const Clock&)>;
// Called before each operation, when the clock has its time: may tell it to the store's own clock, or put another
// limiter in its place that must answer as this one would.
using Between = std::function<void(Limiter&)>;

// `scope`: of all limits that it is asked to define.
SubjectFactory subject_of(LimiterFactory factory, Between between = {}, Scope scope = Scope::kNode);
SubjectFactory model_subject();

struct Difference {
  std::size_t operation = 0;  // the index of the call that was answered differently
  std::string expected;
  std::string actual;
};

// The first answer that is not the model's, or usage above the amount that nothing explains.
std::optional<Difference> compare(const History& history, const SubjectFactory& factory);

// What counts as a difference: compare(), or another one (never_laxer.h).
using Comparison = std::function<std::optional<Difference>(const History&, const SubjectFactory&)>;

// Cuts operations as long as the rest still differs.
History shrink(History history, const SubjectFactory& factory, const Comparison& comparison = compare);

struct Search {
  std::uint64_t seed = 1;
  int histories = 2000;
  int operations = 60;
  Times times = {};
};

// Runs random histories; on a difference: a report with the seed and the shrunken history.
std::optional<std::string> find_difference(const SubjectFactory& factory, const Search& search,
                                           const Comparison& comparison = compare);

}  // namespace mete::model
