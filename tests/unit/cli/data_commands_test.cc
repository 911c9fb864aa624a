// The subcommands for data directories: what they print, and how they end.
#include "cli/commands.h"

#include <gmock/gmock.h>

#include "cli/frame/progress_bar.h"
#include "unit/cli/table.h"
#include "unit/store/data_fixture.h"
#include "wire/json.h"

namespace mete::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DataCommandsTest : public store::testing::DataTest {
 protected:
  DataCommandsTest() : segment(data + "/segment-0000000001") {}

  static Ran mete(const std::vector<std::string>& words) {
    return run_words({backup_command(), restore_command(), inspect_command(), verify_command(), repair_command()},
                     words);
  }
  void damage() { flip(segment, find_in(segment, "batch")); }

  const std::string segment;
};

TEST_F(DataCommandsTest, BackUpAndRestore) {
  fill();
  const Ran backup = mete({"backup", folder + "/copy", "--data", data});
  EXPECT_EQ(backup.status, kExitDone) << backup.error;
  EXPECT_THAT(backup.out, ContainsRegex("/copy: .* in 1 file, 5 records, as of 20..-..-..T.*Z\n"));
  EXPECT_THAT(backup.error, IsEmpty());
  const Ran again = mete({"backup", folder + "/copy", "--data", data});
  EXPECT_EQ(again.status, kExitError);
  EXPECT_THAT(again.error, HasSubstr("is not empty"));
  const Ran restore = mete({"restore", folder + "/copy", "--data", folder + "/other"});
  EXPECT_EQ(restore.status, kExitDone) << restore.error;
  EXPECT_EQ(mete({"restore", folder + "/nowhere", "--data", folder + "/third"}).status, kExitError);
}

TEST_F(DataCommandsTest, InspectShowsLimitsAndTotals) {
  fill();
  const Ran ran = mete({"inspect", data});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  EXPECT_THAT(ran.out, ContainsRegex("segment-0000000001 +[0-9,]+ +5 +20"));
  EXPECT_THAT(ran.out, HasSubstr("changes: 4 meter, 2 operation, 2 limit\n"));
  EXPECT_THAT(ran.out, ContainsRegex("\ngpu +2 +1 +2 +0  kind=stock amount=10\n"));
  EXPECT_THAT(ran.out, ContainsRegex("open_holds +1\nids +2\n"));
}

TEST_F(DataCommandsTest, InspectAsJson) {
  fill();
  const Ran ran = mete({"inspect", data, "--json"});
  ASSERT_TRUE(wire::read_json(ran.out).has_value()) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr(R"("name":"gpu","kind":"stock","amount":10,"meters":2,"used":1,"held":2)"));
  EXPECT_THAT(ran.out, Not(HasSubstr("problem")));
}

TEST_F(DataCommandsTest, InspectPrintsEveryRecord) {
  fill();
  constexpr const char* kOperation =
      " operation id=job made_at=20.* allowed=yes hold=held serial=1 expires_at=20.* tag=batch "
      "charges=\"gpu alice 2, api alice 1\"\n";
  const Ran ran = mete({"inspect", data, "--records"});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  for (const char* line : {
           "segment-0000000001 74 limit limit=api generation=1 kind=bucket amount=100 period=1m\n",
           " meter limit=api key=alice full_at=20..-..-..T..:..:..\\....Z\n",
           " meter limit=gpu key=alice used=2 held=\"2 for job #1.0 until 20.*Z\"\n",
           kOperation,
           " meter limit=gpu key=bob used=1\n",
       }) {
    EXPECT_THAT(ran.out, ContainsRegex(line));
  }
  const Ran json = mete({"inspect", data, "--records", "--json"});
  EXPECT_THAT(json.out, HasSubstr(R"("change":"meter","limit":"gpu","key":"bob","used":1})"));
}

TEST_F(DataCommandsTest, InspectTellsOfDamageAtTheEnd) {
  fill();
  damage();
  for (const auto& words : std::vector<std::vector<std::string>>{{"inspect", data}, {"inspect", data, "--records"}}) {
    const Ran ran = mete(words);
    EXPECT_EQ(ran.status, kExitNo);
    EXPECT_THAT(ran.error, HasSubstr("segment-0000000001 is damaged at byte "));
    EXPECT_THAT(ran.out, HasSubstr("gpu"));
    EXPECT_THAT(ran.out, Not(HasSubstr("bob")));
  }
}

TEST_F(DataCommandsTest, VerifySaysThatAllIsWhole) {
  fill();
  const Ran ran = mete({"verify", data});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  EXPECT_THAT(ran.out,
              HasSubstr("all whole: 1 file, 5 records, 2 limits, 3 meters, 1 open hold, 2 ids, 0 keys, as of"));
}

TEST_F(DataCommandsTest, VerifyNotesUsageAboveTheCapacity) {
  filled(data).limiter.define(stock("gpu").amount(1)).value();
  const Ran ran = mete({"verify", data});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("note: of 'gpu' 1 meter above the capacity"));
}

TEST_F(DataCommandsTest, VerifyPrintsEveryProblem) {
  fill();
  damage();
  flip(segment, find_in(segment, "api"));
  const Ran ran = mete({"verify", data});
  EXPECT_EQ(ran.status, kExitNo);
  EXPECT_THAT(ran.out, ContainsRegex("segment-0000000001, byte [0-9]+ to [0-9]+: .*\nsegment-0000000001, byte "));
  EXPECT_THAT(ran.error, HasSubstr("is not whole: 2 problems; restore a backup"));
}

TEST_F(DataCommandsTest, RepairTellsAsksAndRepairs) {
  fill();
  EXPECT_THAT(mete({"repair", data}).out, EndsWith("nothing to repair\n"));
  damage();
  const Ran dry = mete({"repair", data, "--dry-run"});
  EXPECT_EQ(dry.status, kExitNo);
  EXPECT_THAT(dry.out, HasSubstr("damaged: segment-0000000001, byte "));
  EXPECT_EQ(mete({"verify", data}).status, kExitNo);
  const Ran ran = mete({"repair", data, "--yes"});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("is repaired; the old files are in " + data + "/damaged-"));
  EXPECT_EQ(mete({"verify", data}).status, kExitDone);
}

TEST_F(DataCommandsTest, WhatIsNotThere) {
  for (const char* command : {"inspect", "verify", "repair"}) {
    const Ran ran = mete({command, folder + "/nowhere"});
    EXPECT_EQ(ran.status, kExitError);
    EXPECT_THAT(ran.error, HasSubstr("/nowhere has no data"));
  }
}

TEST(ProgressBar, IsALine) {
  EXPECT_EQ(bar_text("loading", 0, 0), "loading  [........................]  0%  0 B of 1 B");
  EXPECT_EQ(bar_text("loading", 512, 1024), "loading  [############............]  50%  512 B of 1 kB");
  EXPECT_EQ(bar_text("loading", 2048, 1024), "loading  [########################]  100%  2 kB of 2 kB");
  EXPECT_EQ(bar_text("importing", 1, 2, "7 keys"), "importing  [############............]  50%  7 keys");
}

}  // namespace
}  // namespace mete::cli
