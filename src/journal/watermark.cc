#include "journal/watermark.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "journal/directory.h"
#include "journal/file_system.h"

namespace mete::journal {

namespace {

constexpr std::uint64_t kBaseAt = 0;
constexpr std::uint64_t kLatestAt = 512;
constexpr std::size_t kFileBytes = 1024;

std::string path_in(const std::string& directory) { return directory + "/" + std::string(kWatermarkName); }

Result<void> write_slot(File& file, std::uint64_t at, const Position& position) {
  return write_all(file, at, view_of(encode_slot(position)));
}

Result<void> write_file(File& file, const Position& position) {
  std::array<char, kFileBytes> bytes{};
  const auto slot = encode_slot(position);
  std::copy(slot.begin(), slot.end(), bytes.begin() + kBaseAt);
  std::copy(slot.begin(), slot.end(), bytes.begin() + kLatestAt);
  TRY(write_all(file, 0, view_of(bytes)));
  return file.sync();
}

}  // namespace

Result<Watermark> Watermark::open(FileSystem& files, const std::string& directory, const Position& if_new) {
  const auto found = TRY(read_directory(files, directory));
  if (!found.has_watermark) {
    TRY(replace_watermark(files, directory, if_new));
  }
  auto file = TRY(files.open(path_in(directory), FileSystem::Mode::kWrite));
  // What a process that was killed has left unsynced, in whichever slot or of the name, must not add to what is written
  // from here on.
  TRY(file->sync());
  TRY(files.sync_directory(directory));
  return Watermark(std::move(file));
}

// First the latest one, so that there is a whole slot on disk while the base is being written.
Result<void> Watermark::set_base(const Position& position) {
  for (const std::uint64_t at : {kLatestAt, kBaseAt}) {
    TRY(write_slot(*file_, at, position));
    TRY(file_->sync());
  }
  return {};
}

Result<void> Watermark::advance(const Position& position) { return write_slot(*file_, kLatestAt, position); }

Result<Position> read_watermark(FileSystem& files, const std::string& directory) {
  const auto file = TRY(files.open(path_in(directory), FileSystem::Mode::kRead));
  std::array<char, kFileBytes> bytes{};
  const auto size = TRY(read_all(*file, 0, bytes));
  const std::string_view whole(bytes.data(), size);
  const auto base = parse_slot(whole);
  const auto latest = size < kLatestAt ? std::nullopt : parse_slot(whole.substr(kLatestAt));
  if (!base && !latest) return damage({directory, kWatermarkName, 0}, "both of its slots are broken");
  if (!base || !latest) return base ? *base : *latest;
  return std::max(*base, *latest);
}

Result<void> replace_watermark(FileSystem& files, const std::string& directory, const Position& position) {
  const auto file = TRY(create_temporary(files, directory, kWatermarkName));
  TRY(write_file(*file, position));
  return publish_temporary(files, directory, kWatermarkName);
}

}  // namespace mete::journal
