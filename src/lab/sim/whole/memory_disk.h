// MemoryDisk: the disk of a simulated node. A process that is killed leaves all that it has written; a power cut only
// what was synced. Names are on the disk at once. Thread safety: one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "journal/file_system.h"

namespace mete::sim {

class MemoryDisk final : public journal::FileSystem {
 public:
  enum class End : std::uint8_t { kKilled, kPowerCut };

  // As the next process finds it. This one goes on.
  [[nodiscard]] std::unique_ptr<MemoryDisk> after(End end) const;

  [[nodiscard]] Result<std::unique_ptr<journal::File>> open(const std::string& path, Mode mode) override;
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> make_directory(const std::string& /*path*/) override { return {}; }
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_directory(const std::string& /*path*/) override { return {}; }
  [[nodiscard]] Result<std::unique_ptr<journal::DirectoryLock>> lock(const std::string& directory) override;

  struct Image {
    std::string bytes;       // up to the last that is not zero, or further
    std::uint64_t size = 0;  // with the zeros behind them
  };
  struct Content {
    Image written;
    Image synced;
    std::size_t changed_from = std::string::npos;  // of what was written since the last sync
    std::size_t changed_to = 0;
  };

 private:
  std::map<std::string, std::shared_ptr<Content>> files_;
};

}  // namespace mete::sim
