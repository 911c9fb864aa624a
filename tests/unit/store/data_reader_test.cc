// Reading data directories that others use, and that are damaged.
#include "store/embedded/data_reader.h"

#include <gmock/gmock.h>

#include "unit/store/data_fixture.h"

namespace mete::store::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DataReaderTest : public DataTest {
 protected:
  LoadedData load() { return load_data(files, data, {}).value(); }
};

TEST_F(DataReaderTest, LoadsWhatAServerUses) {
  Opened opened = filled(data);
  const LoadedData loaded = load();
  EXPECT_FALSE(loaded.problem.has_value());
  EXPECT_EQ(loaded.counts.limits, 2U);
  EXPECT_EQ(loaded.counts.operations, 2U);
  ASSERT_EQ(loaded.files.size(), 1U);
  EXPECT_EQ(loaded.files[0].name, "segment-0000000001");
  EXPECT_EQ(loaded.files[0].records, loaded.recovered.journal.records);
  EXPECT_TRUE(loaded.files[0].created.has_value());
  const engine::Audit audit = loaded.engine->audit(loaded.as_of);
  EXPECT_THAT(audit.problems, IsEmpty());
  EXPECT_EQ(audit.open_holds, 1U);
  EXPECT_EQ(audit.limits[1].held, 2);
}

TEST_F(DataReaderTest, AViewStaysWhenItsFilesGo) {
  Opened opened = filled(data);
  auto viewed = view_data(files, {.directory = data}).value();
  opened.limiter.take("gpu", "late").value();
  opened.save();
  EXPECT_THAT(names(data), ElementsAre("lock", "segment-0000000002", "snapshot-0000000002", "watermark"));
  const auto again = journal::recover(*viewed.view, {.directory = data,
                                                     .mode = journal::RecoveryMode::kLookOnly,
                                                     .on_record = [](auto, auto&) { return Result<void>(); }});
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->journal.records, viewed.recovered.journal.records);
}

TEST_F(DataReaderTest, LoadsADamagedOneUpToTheDamage) {
  fill();
  flip(data + "/segment-0000000001", find_in(data + "/segment-0000000001", "batch"));
  const LoadedData loaded = load();
  ASSERT_TRUE(loaded.problem.has_value());
  EXPECT_THAT(loaded.problem->message, HasSubstr("segment-0000000001 is damaged at byte "));
  const engine::Audit audit = loaded.engine->audit(loaded.as_of);
  EXPECT_EQ(audit.limits.size(), 2U);
  EXPECT_EQ(audit.open_holds, 0U);
  EXPECT_GT(loaded.as_of, Instant());
}

TEST_F(DataReaderTest, TellsOfAHeaderThatCannotBeRead) {
  fill();
  flip(data + "/segment-0000000001", 20);
  const LoadedData loaded = load();
  ASSERT_TRUE(loaded.problem.has_value());
  EXPECT_EQ(loaded.engine, nullptr);
  EXPECT_FALSE(loaded.files[0].created.has_value());
}

}  // namespace
}  // namespace mete::store::testing
