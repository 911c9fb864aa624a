#include "conformance/exceptions.h"

#include <algorithm>
#include <set>
#include <string>

namespace mete::conformance {

namespace {

constexpr std::string_view kDrawsItself =
    "to a node a limit of scope escrow is not one like any other: it draws shares of it";
constexpr std::string_view kNodesMeetElsewhere =
    "nodes find each other in the store that they share; names that begin with 'mete.' are refused by a node";
constexpr std::string_view kAYearAtMost =
    "a draw is a hold, and no hold lasts for more than 366 days: a limit that takes longer to come back is refused for "
    "scope escrow";

constexpr std::string_view kLeaks =
    "what is drawn ahead of a bucket leaks away as the bucket refills: what nobody has spent of it is denied although "
    "it "
    "is due";

constexpr std::string_view kMayComeBackSooner =
    "while other nodes have shares, a denial is for no longer than until an idle share goes back: who has waited may "
    "be "
    "told to wait again";

constexpr Exception kExceptions[] = {
    {"escrow_node", "ALimitOfScopeEscrowIsKeptAndDecided", kDrawsItself},
    {"escrow_node", "NodesJoinAreTakenOverAndNoticeAWipedStore", kNodesMeetElsewhere},
    {"escrow", "ALimitOfScopeEscrowIsKeptAndDecided", kDrawsItself},
    {"escrow", "NodesJoinAreTakenOverAndNoticeAWipedStore", kNodesMeetElsewhere},
    {"escrow", "Rule03_AGreedyClientGetsExactlyWhatIsDueInTenYears", kAYearAtMost},
    {"escrow", "Rule14_TheLongestPeriodIsAccepted", kAYearAtMost},
    {"escrow", "Rule05_StockWaitsOnlyForHolds",
     "a denial is remembered for up to half a second, with the wait of the smallest request that it denies: a larger "
     "one is told a wait that may be too short"},
    {"escrow", "Rule03_AGreedyClientGetsExactlyWhatIsDueAtOnce", kLeaks},
    {"escrow", "Rule06_TheWaitIsExactForFastBuckets", kLeaks},
    {"escrow", "Promise_WhoHasWaitedIsAdmittedToABucket", kLeaks},
    {"escrow", "Promise_WhoHasWaitedIsAdmittedToAWindow", kMayComeBackSooner},
    {"escrow", "Promise_WhoHasWaitedIsAdmittedToACalendar", kMayComeBackSooner},
    {"escrow", "Promise_WhoHasWaitedIsAdmittedToAStock", kMayComeBackSooner},
};

// "Rule02_DenialChangesNothing/escrow" has these two parts.
std::string_view name_of(std::string_view test) { return test.substr(0, test.find('/')); }

}  // namespace

std::span<const Exception> exceptions() { return kExceptions; }

const Exception* find_exception(std::string_view store, const ::testing::TestInfo& test) {
  const auto* const found = std::find_if(std::begin(kExceptions), std::end(kExceptions), [&](const Exception& each) {
    return each.store == store && each.test == name_of(test.name());
  });
  return found == std::end(kExceptions) ? nullptr : found;
}

namespace {

TEST(Exceptions, NameTestsThatThereAre) {
  std::set<std::string> tests;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) tests.insert(suite.GetTestInfo(j)->name());
  }
  for (const Exception& each : exceptions()) {
    const std::string name = std::string(each.test) + "/" + std::string(each.store);
    EXPECT_TRUE(tests.contains(name)) << name;
    EXPECT_FALSE(each.reason.empty()) << name;
  }
}

}  // namespace

}  // namespace mete::conformance
