// DataView: the files of a data directory as they were at one moment, though a server goes on writing to them.
//
// It keeps every file open that counts: the newest snapshot and the segments from its number on. What a server removes
// meanwhile can still be read, and what it adds is not seen. The watermark is read first of all, so the segments have
// everything that it says is synced; behind that, the last of them may end in a record that is just being written.
//
//     auto viewed = view_data(files, {.directory = "mete-data"});
//     journal::recover(*viewed->view, …)          // as often as one likes, and always the same
//
// It is a FileSystem to read from; whatever would change something is refused.
// Thread safety: one thread at a time.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file_system.h"
#include "journal/format.h"
#include "journal/recovery.h"

namespace mete::store {

class DataView final : public journal::FileSystem {
 public:
  struct ViewedFile {
    std::string name;
    std::shared_ptr<journal::File> file;
    journal::FileKind kind = journal::FileKind::kSegment;
    std::uint64_t bytes_max = UINT64_MAX;  // what is behind them is not seen
  };

  // An error: there is no data, or a file went while this was looking. Then another attempt finds others.
  static Result<std::unique_ptr<DataView>> open(journal::FileSystem& files, const std::string& directory);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  // Without the watermark: the snapshot, if there is one, and the segments in their order.
  [[nodiscard]] const std::vector<ViewedFile>& record_files() const { return record_files_; }
  // Leaves out what recovery has found to be unfinished: from here on there are whole records only.
  void cut_tail(const journal::Recovered& recovered);

  Result<std::unique_ptr<journal::File>> open(const std::string& path, Mode mode) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<std::unique_ptr<journal::DirectoryLock>> lock(const std::string& directory) override;

 private:
  explicit DataView(std::string directory) : directory_(std::move(directory)) {}

  Result<void> keep_watermark(journal::FileSystem& files);
  Result<void> keep_record_files(journal::FileSystem& files);

  const std::string directory_;
  std::vector<ViewedFile> record_files_;
  std::optional<std::string> watermark_;  // its bytes, if there is one
};

struct ViewRequest {
  std::string directory;
  // As in journal::RecoveryRequest. If files change so that reading must begin anew, on_seed is called again, and
  // nothing counts that was told before it.
  std::function<Result<void>(std::string_view body, const journal::RecordPosition& place)> on_record = {};
  std::function<void(std::uint64_t seed)> on_seed = {};
  std::function<void(const journal::Progress&)> on_progress = {};
};

struct Viewed {
  std::unique_ptr<DataView> view;
  journal::Recovered recovered;  // as far as `problem` let it come
  std::optional<Error> problem;  // damage, or what on_record returned
};

// Opens a view, and reads all of it once. An error: there is nothing to see.
Result<Viewed> view_data(journal::FileSystem& files, const ViewRequest& request);

}  // namespace mete::store
