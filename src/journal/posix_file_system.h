// PosixFileSystem: the files of this machine.
//
// Files are made for their owner and its group to read (0640), directories likewise (0750). The lock of a directory is
// flock(2) on the directory and on its file `lock`, which says whose it is: the system frees it when the process ends,
// however that happens.
#pragma once

#include <atomic>

#include "journal/file_system.h"

namespace mete::journal {

class PosixFileSystem final : public FileSystem {
 public:
  [[nodiscard]] Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) override;
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory) override;
  [[nodiscard]] std::optional<Space> space(const std::string& directory) override;
  [[nodiscard]] bool has_been_full() const override { return has_been_full_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> has_been_full_{false};
};

}  // namespace mete::journal
