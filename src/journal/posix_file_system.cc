#include "journal/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/errors.h"
#include "base/try.h"

namespace mete::journal {

namespace {

constexpr mode_t kFileMode = 0640;
constexpr mode_t kDirectoryMode = 0750;
constexpr std::size_t kProcessIdBytesMax = 20;

Error failed(const std::string& what, int reason = errno) {
  return base::unavailable(what + " failed: " + std::error_code(reason, std::generic_category()).message());
}

// Likewise, of a call that may need room.
Error failed_to_keep(std::atomic<bool>& has_been_full, const std::string& what) {
  const int reason = errno;
  if (reason == ENOSPC || reason == EDQUOT) has_been_full.store(true, std::memory_order_relaxed);
  return failed(what, reason);
}

// Calls again for as long as a signal comes in between.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

Descriptor open_descriptor(const std::string& path, int flags) {
  return Descriptor(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor descriptor, std::atomic<bool>& has_been_full)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), has_been_full_(has_been_full) {}

  Result<std::size_t> write(std::uint64_t offset, std::string_view bytes) override {
    const auto written = uninterrupted(
        [&] { return ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written < 0) return failed_to_keep(has_been_full_, at_offset("write of ", offset));
    // Not in the standard's words, but a loop over writes of nothing would never end.
    if (written == 0 && !bytes.empty()) return failed(at_offset("write of ", offset), EIO);
    return static_cast<std::size_t>(written);
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) override {
    const auto got =
        uninterrupted([&] { return ::pread(descriptor_.get(), to.data(), to.size(), static_cast<off_t>(offset)); });
    if (got < 0) return failed(at_offset("read of ", offset));
    return static_cast<std::size_t>(got);
  }

  Result<std::uint64_t> size() override {
    struct stat status {};
    if (::fstat(descriptor_.get(), &status) != 0) return failed("finding the size of " + path_);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<void> truncate(std::uint64_t size) override {
    if (uninterrupted([&] { return ::ftruncate(descriptor_.get(), static_cast<off_t>(size)); }) != 0) {
      return failed_to_keep(has_been_full_, "cutting of " + path_ + " to " + std::to_string(size) + " bytes");
    }
    return {};
  }

  // No second attempt, not even after EINTR: what an fsync that failed has dropped, the next one does not bring back.
  Result<void> sync() override {
    if (::fdatasync(descriptor_.get()) != 0) return failed_to_keep(has_been_full_, "sync of " + path_);
    return {};
  }

 private:
  [[nodiscard]] std::string at_offset(std::string_view what, std::uint64_t offset) const {
    return std::string(what) + path_ + " at " + std::to_string(offset);
  }

  const std::string path_;
  const Descriptor descriptor_;
  std::atomic<bool>& has_been_full_;
};

class PosixLock final : public DirectoryLock {
 public:
  PosixLock(Descriptor directory, Descriptor file) : directory_(std::move(directory)), file_(std::move(file)) {}

 private:
  const Descriptor directory_;
  const Descriptor file_;
};

int open_flags(FileSystem::Mode mode) {
  switch (mode) {
    case FileSystem::Mode::kRead:
      return O_RDONLY;
    case FileSystem::Mode::kWrite:
      return O_RDWR;
    case FileSystem::Mode::kCreate:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  __builtin_unreachable();
}

// The folder that a path's last name is in.
std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? 0 : path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string read_process_id(const Descriptor& file) {
  std::array<char, kProcessIdBytesMax> text{};
  const auto size = uninterrupted([&] { return ::pread(file.get(), text.data(), text.size(), 0); });
  const std::string_view digits(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(digits.substr(0, digits.find_first_not_of("0123456789")));
}

}  // namespace

Result<std::unique_ptr<File>> PosixFileSystem::open(const std::string& path, Mode mode) {
  Descriptor descriptor = open_descriptor(path, open_flags(mode));
  if (!descriptor.is_open()) {
    return failed_to_keep(has_been_full_, (mode == Mode::kCreate ? "creating " : "opening ") + path);
  }
  return std::make_unique<PosixFile>(path, std::move(descriptor), has_been_full_);
}

Result<std::vector<std::string>> PosixFileSystem::list(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) {
    if (errno == ENOENT) return names;
    return failed("listing " + directory);
  }
  errno = 0;
  while (const dirent* const entry = ::readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return failed("listing " + directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> PosixFileSystem::make_directory(const std::string& path) {
  if (is_directory(path)) return {};
  const std::string parent = parent_of(path);
  TRY(make_directory(parent));
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) return failed("making the directory " + path);
  if (!is_directory(path)) return failed("making the directory " + path, ENOTDIR);
  return sync_directory(parent);
}

Result<void> PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return failed("renaming " + from + " to " + to);
  return {};
}

Result<void> PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return failed("removing " + path);
  return {};
}

Result<void> PosixFileSystem::sync_directory(const std::string& path) {
  const Descriptor descriptor = open_descriptor(path, O_RDONLY | O_DIRECTORY);
  if (!descriptor.is_open() || ::fsync(descriptor.get()) != 0) return failed("sync of the directory " + path);
  return {};
}

Result<std::unique_ptr<DirectoryLock>> PosixFileSystem::lock(const std::string& directory) {
  const std::string path = directory + "/lock";
  const auto in_use = [&](const Descriptor& file) {
    const std::string id = file.is_open() ? read_process_id(file) : "";
    return base::unavailable(directory + " is in use by " + (id.empty() ? "another process" : "process " + id) +
                             "; stop it first, or use another directory");
  };
  const auto lock = [](const Descriptor& each) {
    return uninterrupted([&] { return ::flock(each.get(), LOCK_EX | LOCK_NB); }) == 0;
  };
  // Somebody may have deleted the file that another process holds: the directory itself is locked too. Some file
  // systems of networks lock no directories; there the file has to do.
  Descriptor itself = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
  if (!itself.is_open()) return failed("opening " + directory);
  if (!lock(itself) && errno == EWOULDBLOCK) return in_use(open_descriptor(path, O_RDONLY));
  Descriptor file = open_descriptor(path, O_RDWR | O_CREAT);
  if (!file.is_open()) return failed("opening " + path);
  if (!lock(file)) {
    if (errno != EWOULDBLOCK) return failed("locking " + path);
    return in_use(file);
  }
  const std::string id = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), id.data(), id.size(), 0) < 0) {
    return failed("write of " + path);
  }
  return std::make_unique<PosixLock>(std::move(itself), std::move(file));
}

std::optional<Space> PosixFileSystem::space(const std::string& directory) {
  struct statvfs found {};
  if (::statvfs(directory.c_str(), &found) != 0) return std::nullopt;
  return Space{std::uint64_t{found.f_bavail} * found.f_frsize, std::uint64_t{found.f_blocks} * found.f_frsize};
}

}  // namespace mete::journal
