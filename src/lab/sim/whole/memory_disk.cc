#include "lab/sim/whole/memory_disk.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace mete::sim {

namespace {

bool are_zeros(std::string_view bytes) {
  return bytes.empty() || (bytes[0] == '\0' && bytes.substr(1) == bytes.substr(0, bytes.size() - 1));
}

// Zeros behind everything else are a number alone: a journal reserves a megabyte of them in each of its files.
class MemoryFile final : public journal::File {
 public:
  explicit MemoryFile(std::shared_ptr<MemoryDisk::Content> content) : content_(std::move(content)) {}

  Result<std::size_t> write(std::uint64_t offset, std::string_view bytes) override {
    std::string& all = content_->written.bytes;
    std::uint64_t& size = content_->written.size;
    size = std::max(size, offset + bytes.size());
    if (offset >= all.size() && are_zeros(bytes)) return bytes.size();
    if (all.size() < offset + bytes.size()) all.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(offset));
    content_->changed_from = std::min<std::size_t>(content_->changed_from, offset);
    content_->changed_to = std::max<std::size_t>(content_->changed_to, offset + bytes.size());
    return bytes.size();
  }
  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) override {
    const auto& [all, size] = content_->written;
    if (offset >= size) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(to.size(), size - offset);
    const std::size_t found = offset < all.size() ? all.copy(to.data(), count, offset) : 0;
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(found), to.begin() + static_cast<std::ptrdiff_t>(count), '\0');
    return count;
  }
  Result<std::uint64_t> size() override { return content_->written.size; }
  Result<void> truncate(std::uint64_t size) override {
    MemoryDisk::Image& image = content_->written;
    image.size = size;
    if (image.bytes.size() > size) image.bytes.resize(size);
    content_->changed_from = std::min<std::size_t>(content_->changed_from, size);
    return {};
  }
  // Of most files the end is all that has changed.
  Result<void> sync() override {
    MemoryDisk::Content& its = *content_;
    const std::string& all = its.written.bytes;
    its.synced.size = its.written.size;
    its.synced.bytes.resize(all.size());
    if (its.changed_from < std::min(its.changed_to, all.size())) {
      all.copy(its.synced.bytes.data() + its.changed_from, its.changed_to - its.changed_from, its.changed_from);
    }
    its.changed_from = std::string::npos;
    its.changed_to = 0;
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
    const Image& found = end == End::kKilled ? content->written : content->synced;
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
