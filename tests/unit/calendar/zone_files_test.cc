#include "calendar/zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "unit/calendar/tzif_bytes.h"

namespace mete::civil {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(ZoneFilesTest, LoadsZonesByName) {
  for (const std::string_view name : {"UTC", "Etc/UTC", "Etc/GMT+12", "Etc/GMT-14", "Europe/Berlin", "EST5EDT",
                                      "America/Argentina/ComodRivadavia", "America/Port-au-Prince", "GB-Eire"}) {
    const auto zone = load_zone(name);
    EXPECT_TRUE(zone.has_value()) << zone.error().message;
  }
}

TEST(ZoneFilesTest, RefusesNamesThatAreNoZones) {
  using namespace std::string_view_literals;
  const std::string_view names[] = {
      "",
      "Mars/Base",
      "Europe",
      "Europe/",
      "Europe//Berlin",
      "/Europe/Berlin",
      "/usr/share/zoneinfo/Europe/Berlin",
      "../zoneinfo/Europe/Berlin",
      "Europe/../Europe/Berlin",
      "Europe/./Berlin",
      "Europe/Berlin\0"sv,
      "Europe/Berlin\n",
      " Europe/Berlin",
      "Europe/Berlin ",
      "europe/berlin",
      "Europe\\Berlin",
      "posixrules",
      "localtime",
      "posix/Europe/Berlin",
      "right/Europe/Berlin",
      "tzdata.zi",
      "zone.tab",
      "leapseconds",
      "Europe/Z\xc3\xbcrich",
  };
  for (const std::string_view name : names) {
    const auto zone = load_zone(name);
    ASSERT_FALSE(zone.has_value()) << name;
    EXPECT_EQ(zone.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(zone.error().message, HasSubstr("zone: unknown time zone '"));
  }
}

TEST(ZoneFilesTest, TheErrorSaysWhatToDo) {
  EXPECT_EQ(load_zone("Mars/Base").error().message,
            "zone: unknown time zone 'Mars/Base': use an IANA name such as 'Europe/Berlin'");
  EXPECT_THAT(load_zone("\x1b[2J").error().message, HasSubstr("'?[2J'"));
  EXPECT_THAT(load_zone(std::string(100'000, 'A')).error().message, HasSubstr("'" + std::string(64, 'A') + "...'"));
}

// A folder of its own for each test, gone afterwards.
class ZoneFolderTest : public testing::Test {
 public:
  ZoneFolderTest() { fs::create_directories(folder_); }
  ~ZoneFolderTest() override { fs::remove_all(folder_); }

 protected:
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string message(std::string_view name) const {
    const auto zone = load_zone(name, folder_);
    return zone ? "" : zone.error().message;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("mete_zones_" + std::to_string(getpid()));
};

TEST_F(ZoneFolderTest, WithoutTheFolderOnlyUtcIsKnown) {
  fs::remove_all(folder_);
  EXPECT_EQ(message("UTC"), "");
  EXPECT_EQ(message("Europe/Berlin"), "zone: 'Europe/Berlin' needs time zone data, and there is no " +
                                          folder_.string() + ": install the package tzdata, or use 'UTC'");
}

TEST_F(ZoneFolderTest, OnlyUsableFilesAreZones) {
  write("Good", TzifBytes{}.build());
  write("Text", "not a zone");
  write("Empty", "");
  write("Cut", TzifBytes{}.build().substr(0, 70));
  write("Large", TzifBytes{}.build() + std::string(kZoneFileBytesMax, '\0'));
  fs::create_directory(folder_ / "Folder");
  fs::create_symlink(folder_ / "Good", folder_ / "Link");
  fs::create_symlink(folder_ / "Nowhere", folder_ / "Dangling");
  EXPECT_EQ(message("Good"), "");
  EXPECT_EQ(message("Link"), "");
  for (const std::string_view name : {"Text", "Empty", "Folder", "Dangling", "Good/More"}) {
    EXPECT_THAT(message(name), HasSubstr("unknown time zone")) << name;
  }
  EXPECT_EQ(
      message("Cut"),
      "zone: the data of time zone 'Cut' cannot be used, for a header is cut short: reinstall the package tzdata");
  EXPECT_THAT(message("Large"), HasSubstr("the file is too large"));
}

TEST_F(ZoneFolderTest, AFileThatWasReplacedHoldsForTheNextLimit) {
  write("Town", TzifBytes{}.build().substr(0, 70));
  ASSERT_THAT(message("Town"), HasSubstr("reinstall the package tzdata"));
  for (const std::int32_t offset : {3600, 7200}) {
    write("Town", TzifBytes{.offsets = {offset}}.build());
    EXPECT_EQ(load_zone("Town", folder_).value()->stretch_at({}).offset.count(), offset);
  }
}

}  // namespace
}  // namespace mete::civil
