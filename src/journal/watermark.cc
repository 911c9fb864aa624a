#include "journal/watermark.h"

#include <algorithm>
#include <array>

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
  if (auto written = write_all(file, 0, view_of(bytes)); !written) return written;
  return file.sync();
}

}  // namespace

Result<Watermark> Watermark::open(FileSystem& files, const std::string& directory, const Position& if_new) {
  const auto found = read_directory(files, directory);
  if (!found) return tl::unexpected(found.error());
  if (!found->has_watermark) {
    if (auto made = replace_watermark(files, directory, if_new); !made) return tl::unexpected(made.error());
  }
  auto file = files.open(path_in(directory), FileSystem::Mode::kWrite);
  if (!file) return tl::unexpected(file.error());
  // What a process that was killed has left unsynced, in whichever slot or of the name, must not add to what is written
  // from here on.
  if (auto synced = (*file)->sync(); !synced) return tl::unexpected(synced.error());
  if (auto synced = files.sync_directory(directory); !synced) return tl::unexpected(synced.error());
  return Watermark(std::move(*file));
}

// First the latest one, so that there is a whole slot on disk while the base is being written.
Result<void> Watermark::set_base(const Position& position) {
  for (const std::uint64_t at : {kLatestAt, kBaseAt}) {
    if (auto written = write_slot(*file_, at, position); !written) return written;
    if (auto synced = file_->sync(); !synced) return synced;
  }
  return {};
}

Result<void> Watermark::advance(const Position& position) { return write_slot(*file_, kLatestAt, position); }

Result<Position> read_watermark(FileSystem& files, const std::string& directory) {
  const auto file = files.open(path_in(directory), FileSystem::Mode::kRead);
  if (!file) return tl::unexpected(file.error());
  std::array<char, kFileBytes> bytes{};
  const auto size = read_all(**file, 0, bytes);
  if (!size) return tl::unexpected(size.error());
  const std::string_view whole(bytes.data(), *size);
  const auto base = parse_slot(whole);
  const auto latest = *size < kLatestAt ? std::nullopt : parse_slot(whole.substr(kLatestAt));
  if (!base && !latest) return tl::unexpected(damage({directory, kWatermarkName, 0}, "both of its slots are broken"));
  if (!base || !latest) return base ? *base : *latest;
  return std::max(*base, *latest);
}

Result<void> replace_watermark(FileSystem& files, const std::string& directory, const Position& position) {
  const auto file = create_temporary(files, directory, kWatermarkName);
  if (!file) return tl::unexpected(file.error());
  if (auto written = write_file(**file, position); !written) return written;
  return publish_temporary(files, directory, kWatermarkName);
}

}  // namespace mete::journal
