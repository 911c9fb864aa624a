// Backups and restores, of stores that are open and of directories that are not whole.
#include "store/embedded/data_copy.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "unit/store/data_fixture.h"

namespace mete::store::testing {
namespace {

using ::testing::HasSubstr;

class DataCopyTest : public DataTest {
 protected:
  DataCopyTest() : copy(folder + "/copy") {}

  Result<CopyReport> back_up() { return store::back_up(files, {.from = data, .to = copy}); }
  Result<CopyReport> restore(const std::string& to) { return restore_backup(files, {.from = copy, .to = to}); }
  void expect_filled(const std::string& directory) {
    Limiter limiter = open("embedded:" + directory).value();
    EXPECT_EQ(limiter.usage("gpu", "alice").value().held, 2);
    EXPECT_EQ(limiter.usage("gpu", "bob").value().used, 1);
    EXPECT_TRUE(limiter.commit("job").has_value());
  }

  const std::string copy;
};

TEST_F(DataCopyTest, OfAStoreThatIsOpen) {
  Opened opened = filled(data);
  const auto before = names(data);
  const auto report = back_up();
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_GT(report->records, 4U);
  EXPECT_GT(report->as_of, Instant());
  EXPECT_EQ(names(data), before);
  opened.limiter.take("gpu", "bob", 5).value();  // after it
  ASSERT_TRUE(restore(folder + "/deep/restored").has_value());
  expect_filled(folder + "/deep/restored");
}

TEST_F(DataCopyTest, OfAStoreThatIsClosed) {
  fill();
  ASSERT_TRUE(back_up().has_value());
  expect_filled(copy);
}

// Snapshots are published, and segments removed, all the time.
TEST_F(DataCopyTest, WhileSnapshotsArePublished) {
  Opened opened = filled(data);
  std::atomic<bool> is_done{false};
  std::thread saver([&] {
    while (!is_done) opened.save();
  });
  for (int i = 0; i < 20; ++i) {
    opened.limiter.take({{"gpu", "key" + std::to_string(i), 1}}, {.id = "take" + std::to_string(i)}).value();
    const std::string to = copy + std::to_string(i);
    const auto report = store::back_up(files, {.from = data, .to = to});
    ASSERT_TRUE(report.has_value()) << report.error().message;
    Limiter copied = open("embedded:" + to).value();
    EXPECT_EQ(copied.usage("gpu", "key" + std::to_string(i)).value().used, 1);
  }
  is_done = true;
  saver.join();
}

// What is behind the last whole record was never acknowledged.
TEST_F(DataCopyTest, LeavesOutAnUnfinishedTail) {
  fill();
  const std::string segment = data + "/segment-0000000001";
  ASSERT_TRUE(back_up().has_value());
  const std::string whole = contents(copy + "/segment-0000000001");
  put(segment, whole + "half of a rec");
  const std::string again = folder + "/again";
  ASSERT_TRUE(store::back_up(files, {.from = data, .to = again}).has_value());
  EXPECT_TRUE(contents(again + "/segment-0000000001") == whole);
}

TEST_F(DataCopyTest, RefusesWhatIsDamaged) {
  fill();
  flip(data + "/segment-0000000001", 100);
  const auto report = back_up();
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().message, HasSubstr("segment-0000000001 is damaged at byte "));
  EXPECT_FALSE(std::filesystem::exists(copy));
}

TEST_F(DataCopyTest, RefusesWhatHasNoData) {
  EXPECT_THAT(back_up().error().message, HasSubstr("has no data"));
  std::filesystem::create_directory(data);
  EXPECT_THAT(back_up().error().message, HasSubstr("has no data"));
}

TEST_F(DataCopyTest, RefusesADirectoryThatIsNotEmpty) {
  fill();
  std::filesystem::create_directory(copy);
  put(copy + "/notes", "mine");
  EXPECT_THAT(back_up().error().message, HasSubstr("'notes' is in it"));
  EXPECT_THAT(names(copy), ::testing::ElementsAre("notes"));
  std::filesystem::remove(copy + "/notes");
  EXPECT_TRUE(back_up().has_value());
}

TEST_F(DataCopyTest, RestoresOnlyWhereNoServerIs) {
  const Opened opened = filled(data);
  ASSERT_TRUE(back_up().has_value());
  EXPECT_THAT(restore(data).error().message, HasSubstr("is in use by process"));
}

TEST_F(DataCopyTest, RestoresOnlyWhereNothingIs) {
  fill();
  ASSERT_TRUE(back_up().has_value());
  const auto before = names(data);
  EXPECT_THAT(restore(data).error().message, HasSubstr("is not empty"));
  EXPECT_EQ(names(data), before);
}

TEST_F(DataCopyTest, RestoresOnlyWhatIsWhole) {
  fill();
  ASSERT_TRUE(back_up().has_value());
  flip(copy + "/segment-0000000001", 100);
  EXPECT_THAT(restore(folder + "/restored").error().message, HasSubstr("is damaged at byte "));
  EXPECT_FALSE(std::filesystem::exists(folder + "/restored"));
}

// Whatever of its names an interrupted copy has got, it is not taken for a whole one.
TEST_F(DataCopyTest, AnInterruptedCopyIsNone) {
  Opened opened = filled(data);
  opened.save();
  opened.limiter.take("gpu", "bob").value();
  ASSERT_TRUE(back_up().has_value());
  std::filesystem::remove(copy + "/watermark");
  EXPECT_FALSE(restore(folder + "/a").has_value());
  std::filesystem::remove(copy + "/snapshot-0000000002");
  EXPECT_FALSE(restore(folder + "/b").has_value());
  std::filesystem::rename(copy + "/segment-0000000002", copy + "/segment-0000000002.tmp");
  EXPECT_THAT(restore(folder + "/c").error().message, HasSubstr("has no data"));
}

}  // namespace
}  // namespace mete::store::testing
