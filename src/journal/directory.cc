#include "journal/directory.h"
#include "base/try.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace mete::journal {

namespace {

constexpr std::string_view kSegmentPrefix = "segment-";
constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr std::string_view kTemporaryEnding = ".tmp";
constexpr std::size_t kDigitsMin = 10;  // so that names sort as numbers do, for the next ten billion

std::string numbered(std::string_view prefix, std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string name(prefix);
  if (digits.size() < kDigitsMin) name.append(kDigitsMin - digits.size(), '0');
  return name + digits;
}

std::optional<std::uint64_t> number_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  // One name for each number, or two files could claim the same place.
  if (error != std::errc{} || number == 0 || name != numbered(prefix, number)) return std::nullopt;
  return number;
}

std::string path_of(const std::string& directory, std::string_view name) {
  return std::string(directory).append("/").append(name);
}

std::string temporary_name(std::string_view name) { return std::string(name).append(kTemporaryEnding); }

}  // namespace

std::string segment_name(std::uint64_t number) { return numbered(kSegmentPrefix, number); }
std::string snapshot_name(std::uint64_t number) { return numbered(kSnapshotPrefix, number); }

Result<Directory> read_directory(FileSystem& files, const std::string& directory) {
  const auto names = TRY(files.list(directory));
  Directory found;
  for (const std::string& name : names) {
    if (const auto segment = number_of(name, kSegmentPrefix)) found.segments.push_back(*segment);
    if (const auto snapshot = number_of(name, kSnapshotPrefix)) found.snapshots.push_back(*snapshot);
    if (name.ends_with(kTemporaryEnding)) found.temporary.push_back(name);
    if (name == kWatermarkName) found.has_watermark = true;
  }
  std::sort(found.segments.begin(), found.segments.end());
  std::sort(found.snapshots.begin(), found.snapshots.end());
  return found;
}

Result<std::unique_ptr<File>> create_temporary(FileSystem& files, const std::string& directory, std::string_view name) {
  const auto found = TRY(read_directory(files, directory));
  if (std::find(found.temporary.begin(), found.temporary.end(), temporary_name(name)) != found.temporary.end()) {
    TRY(remove_temporary(files, directory, name));
  }
  return files.open(path_of(directory, temporary_name(name)), FileSystem::Mode::kCreate);
}

Result<void> publish_temporary(FileSystem& files, const std::string& directory, std::string_view name) {
  const std::string path = path_of(directory, name);
  TRY(files.rename(path_of(directory, temporary_name(name)), path));
  return files.sync_directory(directory);
}

Result<void> remove_temporary(FileSystem& files, const std::string& directory, std::string_view name) {
  return files.remove(path_of(directory, temporary_name(name)));
}

Result<void> remove_before(FileSystem& files, const std::string& directory, std::uint64_t number) {
  const auto found = TRY(read_directory(files, directory));
  std::vector<std::string> names;
  for (const std::uint64_t snapshot : found.snapshots) {
    if (snapshot < number) names.push_back(snapshot_name(snapshot));
  }
  for (const std::uint64_t segment : found.segments) {
    if (segment < number) names.push_back(segment_name(segment));
  }
  for (const std::string& name : names) {
    TRY(files.remove(path_of(directory, name)));
  }
  if (names.empty()) return {};
  return files.sync_directory(directory);
}

}  // namespace mete::journal
