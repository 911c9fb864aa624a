// Data directories to test with: a store that is open on one of them, and ways to damage it.
#pragma once

#include <gtest/gtest.h>
#include <mete/mete.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "journal/posix_file_system.h"
#include "store/open.h"

namespace mete::store::testing {

using namespace std::chrono_literals;

// A store that is open on a directory.
struct Opened {
  explicit Opened(const std::string& directory) : Opened(open_store("embedded:" + directory, {}).value()) {}
  explicit Opened(std::unique_ptr<Store> opened) : store(opened.get()), limiter(std::move(opened)) {}

  void save() const { store->persistence()->save().value(); }

  Store* store;
  Limiter limiter;
};

class DataTest : public ::testing::Test {
 protected:
  DataTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mete-data-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    data = folder + "/data";
  }
  ~DataTest() override { std::filesystem::remove_all(folder); }

  // A store on the directory, with some of everything in it.
  static Opened filled(const std::string& directory) {
    Opened opened(directory);
    Limiter& limiter = opened.limiter;
    limiter.define(bucket("api").amount(100).per(1min)).value();
    limiter.define(stock("gpu").amount(10)).value();
    limiter.take("api", "alice", 3).value();
    limiter.hold({{"gpu", "alice", 2}, {"api", "alice", 1}}, 1h, {.id = "job", .tag = "batch"}).value();
    limiter.take({{"gpu", "bob", 1}}, {.id = "take-1"}).value();
    return opened;
  }
  void fill() { filled(data); }

  static std::vector<std::string> names(const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Where `text` stands in the file.
  static std::size_t find_in(const std::string& path, std::string_view text) {
    const std::size_t place = contents(path).find(text);
    EXPECT_NE(place, std::string::npos) << text;
    return place;
  }
  static void flip(const std::string& path, std::size_t offset) {
    std::string bytes = contents(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(~bytes[offset]);
    put(path, bytes);
  }

  journal::PosixFileSystem files;
  std::string folder;
  std::string data;
};

}  // namespace mete::store::testing
