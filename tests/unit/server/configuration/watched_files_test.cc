// Files that are written, replaced and led to by links; and their neighbours.
#include "server/configuration/watched_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/files.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

class WatchedFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  // Until a change is told, or longer than it takes to tell of one.
  bool is_told() {
    const auto before = told_;
    const auto end = loop_.after(1s, [this] { loop_.stop(); });
    loop_.run();
    loop_.cancel(end);
    return told_ > before;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("mete-watched-" + std::to_string(::getpid()));
  net::EventLoop loop_;
  int told_ = 0;
  std::unique_ptr<WatchedFiles> files_;

 public:
  WatchedFilesTest() {
    std::filesystem::create_directories(folder_ / "old");
    std::filesystem::create_directories(folder_ / "new");
    write("mete.toml", "1");
    write("old/password", "1");
    write("new/password", "2");
    std::filesystem::create_directory_symlink("old", folder_ / "data");
    std::filesystem::create_symlink("data/password", folder_ / "password");
    files_ = std::make_unique<WatchedFiles>(loop_, [this] {
      ++told_;
      loop_.stop();
    });
    files_->watch({folder_ / "mete.toml", folder_ / "password"});
  }
  ~WatchedFilesTest() override { std::filesystem::remove_all(folder_); }
};

TEST_F(WatchedFilesTest, AreToldOf) {
  write("mete.toml", "22");
  EXPECT_TRUE(is_told());
  write("next", "333");
  std::filesystem::rename(folder_ / "next", folder_ / "mete.toml");
  EXPECT_TRUE(is_told()) << "as editors replace it";
  std::filesystem::create_directory_symlink("new", folder_ / "data-next");
  std::filesystem::rename(folder_ / "data-next", folder_ / "data");
  EXPECT_TRUE(is_told()) << "as Kubernetes replaces it";
}

TEST_F(WatchedFilesTest, OfAFolderAllAre) {
  files_->watch({folder_ / "old"});
  write("old/another", "1");
  EXPECT_TRUE(is_told());
  write("old/password", "22");
  EXPECT_TRUE(is_told());
  std::filesystem::remove(folder_ / "old/another");
  EXPECT_TRUE(is_told());
  std::filesystem::rename(folder_ / "old/password", folder_ / "elsewhere");
  EXPECT_TRUE(is_told()) << "the last one, too";
}

TEST_F(WatchedFilesTest, TheirNeighboursAreNot) {
  write("mete.toml.swp", "1");
  write("another", "1");
  std::filesystem::rename(folder_ / "another", folder_ / "a third");
  EXPECT_FALSE(is_told());
  files_->watch({folder_ / "password"});
  write("mete.toml", "22");
  EXPECT_FALSE(is_told());
}

}  // namespace
}  // namespace mete::server
