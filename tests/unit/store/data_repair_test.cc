// Repairs: what is kept, what is told, and what is left where it was.
#include "store/embedded/data_repair.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>

#include "journal/crc32c.h"
#include "store/embedded/data_reader.h"
#include "unit/store/data_fixture.h"

namespace mete::store::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Instant kNow = Instant::from_unix_seconds(1'700'000'000);

class DataRepairTest : public DataTest {
 protected:
  DataRepairTest() : segment(data + "/segment-0000000001") {}

  std::unique_ptr<DataRepair> prepare() { return DataRepair::prepare(files, data).value(); }
  // Every file of the directory, with its bytes.
  [[nodiscard]] std::map<std::string, std::string> snapshot_of_files(const std::string& directory) const {
    std::map<std::string, std::string> found;
    for (const std::string& name : names(directory)) {
      if (name != "lock") found[name] = contents(directory + "/" + name);
    }
    return found;
  }

  const std::string segment;
};

TEST_F(DataRepairTest, HasNothingToDoOnAWholeDirectory) {
  fill();
  const auto before = snapshot_of_files(data);
  EXPECT_TRUE(prepare()->findings().is_healthy());
  EXPECT_TRUE(snapshot_of_files(data) == before);
}

TEST_F(DataRepairTest, RefusesADirectoryInUseAndOneWithoutData) {
  EXPECT_THAT(DataRepair::prepare(files, data).error().message, HasSubstr("has no data"));
  const Opened opened = filled(data);
  EXPECT_THAT(DataRepair::prepare(files, data).error().message, HasSubstr("is in use by process"));
}

// Another program wrote it, and can read it.
TEST_F(DataRepairTest, RefusesWhatIsOfAnotherVersion) {
  fill();
  std::string bytes = contents(segment);
  bytes[8] = 2;
  const std::uint32_t checksum =
      journal::crc32c(std::string_view(bytes).substr(16, 32), journal::crc32c(std::string_view(bytes).substr(0, 12)));
  std::memcpy(bytes.data() + 12, &checksum, sizeof checksum);
  put(segment, bytes);
  EXPECT_THAT(DataRepair::prepare(files, data).error().message, HasSubstr("use the one that wrote it"));
}

TEST_F(DataRepairTest, PreparingChangesNothing) {
  fill();
  flip(segment, find_in(segment, "batch"));
  const auto before = snapshot_of_files(data);
  EXPECT_THAT(prepare()->findings().damage, SizeIs(1));
  EXPECT_TRUE(snapshot_of_files(data) == before);
}

TEST_F(DataRepairTest, KeepsWhatIsWhole) {
  fill();
  flip(segment, find_in(segment, "batch"));  // in the record of the hold
  const auto before = snapshot_of_files(data);
  EXPECT_FALSE(open("embedded:" + data).has_value());
  const auto repair = prepare();
  const RepairFindings& findings = repair->findings();
  ASSERT_THAT(findings.damage, SizeIs(1));
  EXPECT_EQ(findings.damage[0].file, "segment-0000000001");
  EXPECT_LT(findings.damage[0].from, find_in(segment, "take-1"));
  EXPECT_EQ(findings.audit.limits.size(), 2U);
  EXPECT_EQ(findings.audit.open_holds, 0U);
  const std::string moved_to = repair->carry_out(kNow).value();
  EXPECT_EQ(moved_to, "damaged-20231114T221320.000Z");
  EXPECT_TRUE(snapshot_of_files(data + "/" + moved_to) == before);
}

TEST_F(DataRepairTest, IsWholeAfterwards) {
  fill();
  flip(segment, find_in(segment, "batch"));
  prepare()->carry_out(kNow).value();
  EXPECT_TRUE(prepare()->findings().is_healthy());
  const Opened opened(data);
  EXPECT_EQ(opened.limiter.usage("gpu", "bob").value().used, 1);
  EXPECT_EQ(opened.limiter.usage("gpu", "alice").value().held, 0);
}

// The snapshot has the limits first; without them nobody knows what the meters are.
// Written while the machine's clock was a year ahead.
TEST_F(DataRepairTest, WhatIsAheadOfTheClockIsRefusedAndBroughtBack) {
  const Instant now = Instant::from_ns(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()));
  ManualClock ahead(now + 24h * 365);
  {
    const Options options{.clock = &ahead};
    Opened opened(open_store("embedded:" + data, options).value());
    Limiter& limiter = opened.limiter;
    limiter.define(bucket("api").amount(100).per(24h)).value();
    limiter.define(calendar("links").amount(20).per(Unit::kMonth)).value();
    limiter.define(stock("gpu").amount(10)).value();
    limiter.override_amount("gpu", "bob", 50).value();
    limiter.take("api", "alice", 30).value();
    limiter.take("links", "alice", 7).value();
    limiter.take("gpu", "bob", 40).value();
    limiter.take("gpu", "full", 9).value();
    limiter.hold({{"gpu", "alice", 2}, {"links", "alice", 1}}, 1h, {.id = "job", .tag = "batch"}).value();
    limiter.take({{"gpu", "full", 9}}, {.mode = Mode::kForce}).value();
  }
  const auto refused = open_store("embedded:" + data, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("mete repair --clock " + data));

  auto repair = prepare();
  EXPECT_TRUE(repair->findings().is_healthy());
  EXPECT_GT(repair->latest_time().value() - now, Duration(24h * 364));
  const TurnedBack turned = repair->bring_back_to(now).value();
  EXPECT_EQ(turned.holds, 1U);
  EXPECT_EQ(turned.holds_lost, 0U);
  EXPECT_THAT(repair->carry_out(now).value(), HasSubstr("ahead-"));
  repair.reset();

  Opened opened(data);
  Limiter& limiter = opened.limiter;
  EXPECT_EQ(limiter.usage("api", "alice")->used, 30);
  EXPECT_EQ(limiter.usage("links", "alice")->used, 7);
  EXPECT_EQ(limiter.usage("links", "alice")->held, 1);
  EXPECT_EQ(limiter.usage("gpu", "bob")->remaining, 10);
  EXPECT_EQ(limiter.usage("gpu", "full")->used, 18);
  EXPECT_EQ(limiter.usage("gpu", "alice")->held, 2);
  EXPECT_TRUE(limiter.commit("job").has_value());
  EXPECT_EQ(limiter.usage("gpu", "alice")->used, 2);
}

TEST_F(DataRepairTest, TellsOfMetersWhoseLimitIsLost) {
  {
    Opened opened = filled(data);
    opened.save();
    opened.limiter.take("gpu", "carol").value();
  }
  flip(data + "/snapshot-0000000002", 70);
  auto repair = prepare();
  EXPECT_FALSE(repair->findings().damage.empty());
  EXPECT_GT(repair->findings().changes_without_limit, 0U);
  repair->carry_out(kNow).value();
  repair.reset();
  EXPECT_TRUE(Opened(data).limiter.limits().value().empty());
}

// Each file in turn is cut in half, is empty, or is not there: whatever is left can be opened after a repair.
TEST_F(DataRepairTest, WhateverIsMissing) {
  {
    Opened opened = filled(data);
    opened.save();
    opened.limiter.take("gpu", "carol").value();
  }
  enum class Loss : std::uint8_t { kHalf, kAll, kFile };
  for (const std::string name : {"snapshot-0000000002", "segment-0000000002", "watermark"}) {
    for (const Loss loss : {Loss::kHalf, Loss::kAll, Loss::kFile}) {
      SCOPED_TRACE(name + " " + std::to_string(static_cast<int>(loss)));
      const std::string intact = data;
      data = folder + "/" + name + std::to_string(static_cast<int>(loss));
      std::filesystem::copy(intact, data, std::filesystem::copy_options::recursive);
      const std::string bytes = contents(data + "/" + name);
      put(data + "/" + name, loss == Loss::kHalf ? bytes.substr(0, 60) : "");
      if (loss == Loss::kFile) std::filesystem::remove(data + "/" + name);
      auto repair = prepare();
      if (!repair->findings().is_healthy()) repair->carry_out(kNow).value();
      repair.reset();
      EXPECT_TRUE(open("embedded:" + data).has_value()) << "after a repair";
      data = intact;
    }
  }
}

}  // namespace
}  // namespace mete::store::testing
