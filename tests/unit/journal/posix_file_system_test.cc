#include "journal/posix_file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "journal/file_system.h"

namespace mete::journal {
namespace {

using ::testing::Test;
using Mode = FileSystem::Mode;

class PosixFileSystemTest : public Test {
 protected:
  PosixFileSystemTest() {
    std::string name = (std::filesystem::temp_directory_path() / "mete-files-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

  std::string directory_;
  PosixFileSystem files_;
};

TEST_F(PosixFileSystemTest, WritesReadsAndCuts) {
  const std::string path = directory_ + "/a";
  {
    const auto file = files_.open(path, Mode::kCreate).value();
    write_all(*file, 0, "hello").value();
    write_all(*file, 8, "world").value();
    EXPECT_EQ(file->size(), 13U);
    file->truncate(10).value();
    file->sync().value();
  }
  const auto file = files_.open(path, Mode::kRead).value();
  std::string text(20, '?');
  EXPECT_EQ(read_all(*file, 0, text), 10U);
  EXPECT_EQ(text.substr(0, 10), std::string("hello\0\0\0wo", 10));
  EXPECT_EQ(read_all(*file, 10, text), 0U);
  EXPECT_EQ(mode_of(path) & 0027, 0U);
}

TEST_F(PosixFileSystemTest, NamesFilesInOrder) {
  for (const char* const name : {"/b", "/c", "/a"}) ASSERT_TRUE(files_.open(directory_ + name, Mode::kCreate));
  files_.rename(directory_ + "/c", directory_ + "/d").value();
  files_.remove(directory_ + "/b").value();
  files_.sync_directory(directory_).value();
  EXPECT_EQ(files_.list(directory_).value(), (std::vector<std::string>{"a", "d"}));
  EXPECT_EQ(files_.list(directory_ + "/nowhere").value(), std::vector<std::string>{});
}

TEST_F(PosixFileSystemTest, MakesDirectoriesWithThoseAboveThem) {
  files_.make_directory(directory_ + "/x/y/z").value();
  files_.make_directory(directory_ + "/x/y/z/").value();
  EXPECT_EQ(files_.list(directory_ + "/x/y").value(), std::vector<std::string>{"z"});
  EXPECT_EQ(mode_of(directory_ + "/x/y/z") & 0027, 0U);
}

TEST_F(PosixFileSystemTest, ErrorsSayWhatFailedAndWhy) {
  ASSERT_TRUE(files_.open(directory_ + "/there", Mode::kCreate));
  const auto full = files_.open("/dev/full", Mode::kWrite).value();
  const auto message = [](const auto& result) { return result ? "no error" : result.error().message; };
  const auto read_only = files_.open(directory_ + "/there", Mode::kRead).value();
  const struct {
    std::string expected;
    std::string actual;
  } rows[] = {
      {"creating " + directory_ + "/there failed: File exists",
       message(files_.open(directory_ + "/there", Mode::kCreate))},
      {"opening " + directory_ + "/not failed: No such file or directory",
       message(files_.open(directory_ + "/not", Mode::kWrite))},
      {"write of /dev/full at 4096 failed: No space left on device", message(full->write(4096, "x"))},
      {"write of " + directory_ + "/there at 0 failed: Bad file descriptor", message(read_only->write(0, "x"))},
      {"removing " + directory_ + "/not failed: No such file or directory",
       message(files_.remove(directory_ + "/not"))},
      {"renaming " + directory_ + "/not to " + directory_ + "/x failed: No such file or directory",
       message(files_.rename(directory_ + "/not", directory_ + "/x"))},
      {"sync of the directory " + directory_ + "/not failed: No such file or directory",
       message(files_.sync_directory(directory_ + "/not"))},
      {"listing " + directory_ + "/there failed: Not a directory", message(files_.list(directory_ + "/there"))},
      {"making the directory " + directory_ + "/there failed: Not a directory",
       message(files_.make_directory(directory_ + "/there/x"))},
  };
  for (const auto& row : rows) EXPECT_EQ(row.actual, row.expected);
}

TEST_F(PosixFileSystemTest, LockKeepsOthersOutAndNamesItsHolder) {
  auto lock = files_.lock(directory_).value();
  const auto second = files_.lock(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.error().message, directory_ + " is in use by process " + std::to_string(::getpid()) +
                                        "; stop it first, or use another directory");
  lock.reset();
  EXPECT_TRUE(files_.lock(directory_));
}

TEST_F(PosixFileSystemTest, LockHoldsThoughItsFileIsDeleted) {
  auto lock = files_.lock(directory_).value();
  ASSERT_TRUE(files_.remove(directory_ + "/lock"));
  const auto second = files_.lock(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            directory_ + " is in use by another process; stop it first, or use another directory");
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/lock"));
  lock.reset();
  EXPECT_TRUE(files_.lock(directory_));
}

TEST_F(PosixFileSystemTest, LockEndsWithItsProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto lock = files_.lock(directory_);
    ::_exit(lock ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(files_.lock(directory_));
}

}  // namespace
}  // namespace mete::journal
