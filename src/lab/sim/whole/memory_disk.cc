#include "lab/sim/whole/memory_disk.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace mete::sim {

namespace {

class MemoryFile final : public journal::File {
 public:
  explicit MemoryFile(std::shared_ptr<MemoryDisk::Content> content) : content_(std::move(content)) {}

  Result<std::size_t> write(std::uint64_t offset, std::string_view bytes) override {
    std::string& all = content_->written;
    if (all.size() < offset + bytes.size()) all.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(offset));
    return bytes.size();
  }
  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) override {
    const std::string& all = content_->written;
    if (offset >= all.size()) return std::size_t{0};
    return all.copy(to.data(), to.size(), offset);
  }
  Result<std::uint64_t> size() override { return std::uint64_t{content_->written.size()}; }
  Result<void> truncate(std::uint64_t size) override {
    content_->written.resize(size);
    return {};
  }
  Result<void> sync() override {
    content_->synced = content_->written;
    return {};
  }

 private:
  std::shared_ptr<MemoryDisk::Content> content_;
};

Error no_file(const std::string& path) { return base::unavailable(path + ": there is no such file"); }

}  // namespace

std::unique_ptr<MemoryDisk> MemoryDisk::after(End end) const {
  auto next = std::make_unique<MemoryDisk>();
  for (const auto& [path, content] : files_) {
    const std::string& found = end == End::kKilled ? content->written : content->synced;
    next->files_.emplace(path, std::make_shared<Content>(Content{found, found}));
  }
  return next;
}

Result<std::unique_ptr<journal::File>> MemoryDisk::open(const std::string& path, Mode mode) {
  const auto found = files_.find(path);
  if (mode == Mode::kCreate && found != files_.end()) return base::unavailable(path + ": the file exists");
  if (mode != Mode::kCreate && found == files_.end()) return no_file(path);
  const auto content = mode == Mode::kCreate ? std::make_shared<Content>() : found->second;
  if (mode == Mode::kCreate) files_.emplace(path, content);
  return std::make_unique<MemoryFile>(content);
}

Result<std::vector<std::string>> MemoryDisk::list(const std::string& directory) {
  std::vector<std::string> names;
  const std::string prefix = directory + "/";
  for (const auto& [path, content] : files_) {
    if (path.starts_with(prefix)) names.push_back(path.substr(prefix.size()));
  }
  return names;
}

Result<void> MemoryDisk::rename(const std::string& from, const std::string& to) {
  const auto found = files_.find(from);
  if (found == files_.end()) return no_file(from);
  files_[to] = found->second;
  files_.erase(from);
  return {};
}

Result<void> MemoryDisk::remove(const std::string& path) {
  if (files_.erase(path) == 0) return no_file(path);
  return {};
}

Result<std::unique_ptr<journal::DirectoryLock>> MemoryDisk::lock(const std::string& /*directory*/) {
  return std::make_unique<journal::DirectoryLock>();
}

}  // namespace mete::sim
