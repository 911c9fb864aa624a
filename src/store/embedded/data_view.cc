#include "store/embedded/data_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "journal/directory.h"
#include "journal/file_system.h"

namespace mete::store {

namespace {

// How often a server may publish a snapshot just while its files are being opened.
constexpr int kAttemptsMax = 10;
constexpr std::size_t kWatermarkBytesMax = std::size_t{4} << 10;

Error read_only(const std::string& path) { return base::unavailable(path + " is only looked at, and not changed"); }

// The beginning of a file that others go on writing to.
class SharedFile final : public journal::File {
 public:
  explicit SharedFile(DataView::ViewedFile viewed) : viewed_(std::move(viewed)) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) override {
    if (offset >= viewed_.bytes_max) return std::size_t{0};
    return viewed_.file->read(offset, to.first(std::min<std::uint64_t>(to.size(), viewed_.bytes_max - offset)));
  }
  Result<std::uint64_t> size() override {
    return viewed_.file->size().map([this](std::uint64_t size) { return std::min(size, viewed_.bytes_max); });
  }
  Result<std::size_t> write(std::uint64_t /*offset*/, std::string_view /*bytes*/) override {
    return read_only(viewed_.name);
  }
  Result<void> truncate(std::uint64_t /*size*/) override { return read_only(viewed_.name); }
  Result<void> sync() override { return read_only(viewed_.name); }

 private:
  const DataView::ViewedFile viewed_;
};

// A file as it was.
class KeptFile final : public journal::File {
 public:
  explicit KeptFile(std::string bytes) : bytes_(std::move(bytes)) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) override {
    const std::size_t from = std::min<std::uint64_t>(offset, bytes_.size());
    const std::size_t count = std::min(to.size(), bytes_.size() - from);
    std::memcpy(to.data(), bytes_.data() + from, count);
    return count;
  }
  Result<std::uint64_t> size() override { return bytes_.size(); }
  Result<std::size_t> write(std::uint64_t /*offset*/, std::string_view /*bytes*/) override {
    return read_only("the file");
  }
  Result<void> truncate(std::uint64_t /*size*/) override { return read_only("the file"); }
  Result<void> sync() override { return read_only("the file"); }

 private:
  const std::string bytes_;
};

Error no_data(const std::string& directory) {
  return base::invalid(directory + " has no data of a server: there is neither a snapshot nor a segment in it");
}

}  // namespace

Result<std::unique_ptr<DataView>> DataView::open(journal::FileSystem& files, const std::string& directory) {
  std::unique_ptr<DataView> view(new DataView(directory));
  TRY(view->keep_watermark(files));
  TRY(view->keep_record_files(files));
  return view;
}

Result<void> DataView::keep_watermark(journal::FileSystem& files) {
  const auto found = TRY(journal::read_directory(files, directory_));
  if (!found.has_watermark) return {};
  const auto file = TRY(files.open(directory_ + "/" + std::string(journal::kWatermarkName), Mode::kRead));
  std::array<char, kWatermarkBytesMax> bytes{};
  const auto size = TRY(journal::read_all(*file, 0, bytes));
  watermark_.emplace(bytes.data(), size);
  return {};
}

Result<void> DataView::keep_record_files(journal::FileSystem& files) {
  const auto found = TRY(journal::read_directory(files, directory_));
  const std::uint64_t first = found.snapshots.empty() ? 0 : found.snapshots.back();
  if (first != 0) record_files_.push_back({journal::snapshot_name(first), nullptr, journal::FileKind::kSnapshot});
  for (const std::uint64_t segment : found.segments) {
    if (segment >= first) record_files_.push_back({journal::segment_name(segment), nullptr});
  }
  if (record_files_.empty()) return no_data(directory_);
  for (ViewedFile& each : record_files_) {
    each.file = TRY(files.open(directory_ + "/" + each.name, Mode::kRead));
  }
  return {};
}

void DataView::cut_tail(const journal::Recovered& recovered) {
  const std::string next = journal::segment_name(recovered.continuation.next_segment);
  const std::string last = journal::segment_name(recovered.continuation.next_segment - 1);
  // One that was just being made has nothing in it yet.
  std::erase_if(record_files_, [&](const ViewedFile& each) { return each.name == next; });
  for (ViewedFile& each : record_files_) {
    if (each.name == last) each.bytes_max = recovered.continuation.previous_length;
  }
}

Result<std::unique_ptr<journal::File>> DataView::open(const std::string& path, Mode mode) {
  if (mode != Mode::kRead) return read_only(path);
  if (watermark_ && path == directory_ + "/" + std::string(journal::kWatermarkName)) {
    return std::make_unique<KeptFile>(*watermark_);
  }
  for (const ViewedFile& each : record_files_) {
    if (path == directory_ + "/" + each.name) return std::make_unique<SharedFile>(each);
  }
  return base::unavailable("opening " + path + " failed: it was not there");
}

Result<std::vector<std::string>> DataView::list(const std::string& /*directory*/) {
  std::vector<std::string> names;
  for (const ViewedFile& each : record_files_) names.push_back(each.name);
  if (watermark_) names.emplace_back(journal::kWatermarkName);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> DataView::make_directory(const std::string& path) { return read_only(path); }
Result<void> DataView::rename(const std::string& from, const std::string& /*to*/) { return read_only(from); }
Result<void> DataView::remove(const std::string& path) { return read_only(path); }
Result<void> DataView::sync_directory(const std::string& path) { return read_only(path); }
Result<std::unique_ptr<journal::DirectoryLock>> DataView::lock(const std::string& directory) {
  return read_only(directory);
}

// What looks like damage may be a record that was half written when it was read, while a later read has found the next
// ones. Damage that stays looks the same the second time.
Result<Viewed> view_data(journal::FileSystem& files, const ViewRequest& request) {
  const journal::RecoveryRequest recovery{
      .directory = request.directory,
      .mode = journal::RecoveryMode::kLookOnly,
      .on_record = request.on_record ? request.on_record
                                     : [](std::string_view, const journal::RecordPosition&) { return Result<void>(); },
      .on_seed = request.on_seed,
      .on_progress = request.on_progress};
  std::optional<Error> before;
  for (int attempt = 1;; ++attempt) {
    const bool is_last = attempt == kAttemptsMax;
    auto view = DataView::open(files, request.directory);
    if (!view) {
      const bool is_same = before && before->message == view.error().message;
      if (is_same || is_last) return view.error();
      before = view.error();
      continue;
    }
    auto recovered = journal::recover(**view, recovery);
    if (recovered && recovered->is_new) return no_data(request.directory);
    if (recovered) {
      (*view)->cut_tail(*recovered);
      return Viewed{std::move(*view), std::move(*recovered), std::nullopt};
    }
    const bool is_same = before && before->message == recovered.error().message;
    if (is_same || is_last) return Viewed{std::move(*view), {}, recovered.error()};
    before = recovered.error();
  }
}

}  // namespace mete::store
