// FileSystem: the seam between the journal and the disk. All files are reached through it, so that tests can fail any
// call and cut the power at any time.
//
// Nothing written is safe before sync() of the file, and no file's name before sync_directory(). Errors are
// kUnavailable; the message says which file, what was tried, and what the system said.
// Thread safety: a FileSystem from any thread; a File from one thread at a time.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mete::journal {

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  // Writes some of the bytes, and at least one; returns how many.
  [[nodiscard]] virtual Result<std::size_t> write(std::uint64_t offset, std::string_view bytes) = 0;
  // Reads some of the bytes; 0 only at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> to) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> size() = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<void> sync() = 0;
};

// Keeps other processes out until it is destroyed, or the process ends in whatever way.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  virtual ~DirectoryLock() = default;
};

// Whole reads and writes on a File, which by itself does as much as it likes at a time.
Result<void> write_all(File& file, std::uint64_t offset, std::string_view bytes);

// Fills `to`, or as much of it as the file has; returns how much that was.
[[nodiscard]] Result<std::size_t> read_all(File& file, std::uint64_t offset, std::span<char> to);

// Of the file system that a directory is on.
struct Space {
  std::uint64_t free_bytes = 0;  // for this process
  std::uint64_t total_bytes = 0;
};

class FileSystem {
 public:
  enum class Mode : std::uint8_t {
    kRead,
    kWrite,   // and read; the file exists
    kCreate,  // and read; the file does not exist
  };

  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) = 0;
  // The names of a directory's files, without its path, sorted. None if there is no such directory.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // With those above it; nothing if it is there.
  virtual Result<void> make_directory(const std::string& path) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<void> sync_directory(const std::string& path) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory) = 0;
  // None: it cannot be told.
  [[nodiscard]] virtual std::optional<Space> space(const std::string& /*directory*/) { return std::nullopt; }
  // Whether a call has failed for want of room: the disk was full, or a quota used up, of which space() knows nothing.
  [[nodiscard]] virtual bool has_been_full() const { return false; }
};

}  // namespace mete::journal
