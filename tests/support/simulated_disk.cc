#include "support/simulated_disk.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace mete::support {

namespace {

Error failed(const std::string& what, const std::string& why) {
  return Error{ErrorCode::kUnavailable, what + " failed: " + why};
}

bool is_zeros(std::string_view bytes) {
  static const std::string kZeros(512, '\0');  // a sector at most
  return bytes == std::string_view(kZeros).substr(0, bytes.size());
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

class SimulatedFile final : public journal::File {
 public:
  SimulatedFile(SimulatedDisk& disk, std::string path, std::shared_ptr<SimulatedDisk::Inode> inode)
      : disk_(disk), path_(std::move(path)), inode_(std::move(inode)) {}

  Result<std::size_t> write(std::uint64_t offset, std::string_view bytes) override {
    disk_.announce_change();
    const std::lock_guard lock(disk_.mutex_);
    if (auto error = disk_.begin_call("write of " + path_, true)) return *error;
    const bool is_short = disk_.calls_ == disk_.failing_call_ && disk_.failure_ == SimulatedDisk::Failure::kShortWrite;
    if (is_short) bytes = bytes.substr(0, (bytes.size() + 1) / 2);
    SimulatedDisk::write(*inode_, offset, bytes);
    return bytes.size();
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) override {
    const std::lock_guard lock(disk_.mutex_);
    if (auto error = disk_.begin_call("read of " + path_, false)) return *error;
    const SimulatedDisk::Image& image = inode_->now;
    if (offset >= image.size) return std::size_t{0};
    const std::size_t size = std::min<std::uint64_t>(to.size(), image.size - offset);
    std::fill_n(to.begin(), size, '\0');
    const auto first = image.sectors.lower_bound(offset / SimulatedDisk::kSectorBytes);
    for (auto at = first; at != image.sectors.end(); ++at) {
      const std::uint64_t start = at->first * SimulatedDisk::kSectorBytes;
      if (start >= offset + size) break;
      const std::uint64_t from = std::max(start, offset);
      const std::uint64_t end = std::min(start + SimulatedDisk::kSectorBytes, offset + size);
      std::copy_n(at->second.data() + (from - start), end - from, to.data() + (from - offset));
    }
    return size;
  }

  Result<std::uint64_t> size() override {
    const std::lock_guard lock(disk_.mutex_);
    if (auto error = disk_.begin_call("finding the size of " + path_, false)) return *error;
    return inode_->now.size;
  }

  Result<void> truncate(std::uint64_t size) override {
    disk_.announce_change();
    const std::lock_guard lock(disk_.mutex_);
    if (auto error = disk_.begin_call("cutting of " + path_, false)) return *error;
    SimulatedDisk::truncate(*inode_, size);
    return {};
  }

  Result<void> sync() override {
    disk_.announce_change();
    const std::lock_guard lock(disk_.mutex_);
    if (auto error = disk_.begin_call("sync of " + path_, false)) {
      for (const auto& [number, versions] : inode_->unsynced) inode_->lost.insert(number);
      return *error;
    }
    SimulatedDisk::sync(*inode_);
    return {};
  }

 private:
  SimulatedDisk& disk_;
  const std::string path_;
  const std::shared_ptr<SimulatedDisk::Inode> inode_;
};

class SimulatedLock final : public journal::DirectoryLock {
 public:
  SimulatedLock(SimulatedDisk& disk, std::string directory) : disk_(disk), directory_(std::move(directory)) {}
  ~SimulatedLock() override {
    const std::lock_guard lock(disk_.mutex_);
    disk_.locked_.erase(directory_);
  }

 private:
  SimulatedDisk& disk_;
  const std::string directory_;
};

// --- Images of a file ----------------------------------------------------------------------------------------------

SimulatedDisk::Sector SimulatedDisk::Image::sector(std::uint64_t number) const {
  const auto found = sectors.find(number);
  return found == sectors.end() ? Sector(kSectorBytes, '\0') : found->second;
}

void SimulatedDisk::Image::set(std::uint64_t number, const Sector& sector) {
  if (is_zeros(sector)) {
    sectors.erase(number);
  } else {
    sectors[number] = sector;
  }
}

void SimulatedDisk::Image::cut_to(std::uint64_t bytes) {
  size = bytes;
  sectors.erase(sectors.lower_bound((bytes + kSectorBytes - 1) / kSectorBytes), sectors.end());
  if (bytes % kSectorBytes == 0) return;
  Sector last = sector(bytes / kSectorBytes);
  std::fill(last.begin() + static_cast<std::ptrdiff_t>(bytes % kSectorBytes), last.end(), '\0');
  set(bytes / kSectorBytes, last);
}

std::string SimulatedDisk::Image::bytes() const {
  std::string text(size, '\0');
  for (const auto& [number, sector] : sectors) {
    const std::size_t start = number * kSectorBytes;
    text.replace(start, std::min(kSectorBytes, size - start), sector, 0, std::min(kSectorBytes, size - start));
  }
  return text;
}

void SimulatedDisk::write_sector(Inode& inode, std::uint64_t number, std::size_t from, std::string_view bytes) {
  // Zeros on zeros, by the mebibyte: nothing changes.
  if (!inode.now.sectors.contains(number) && is_zeros(bytes)) return;
  const Sector before = inode.now.sector(number);
  Sector after = before;
  after.replace(from, bytes.size(), bytes);
  if (after == before) return;
  inode.now.set(number, after);
  auto& versions = inode.unsynced[number];
  if (versions.size() == kVersionsMax) versions.erase(versions.begin());
  versions.push_back(std::move(after));
  inode.lost.erase(number);
}

void SimulatedDisk::write(Inode& inode, std::uint64_t offset, std::string_view bytes) {
  inode.now.size = std::max(inode.now.size, offset + bytes.size());
  while (!bytes.empty()) {
    const std::uint64_t number = offset / kSectorBytes;
    const std::size_t from = offset % kSectorBytes;
    const std::size_t size = std::min(bytes.size(), kSectorBytes - from);
    write_sector(inode, number, from, bytes.substr(0, size));
    offset += size;
    bytes.remove_prefix(size);
  }
}

// A size of its own: the sectors behind it go with it, so there is nothing to remember of them.
void SimulatedDisk::truncate(Inode& inode, std::uint64_t size) {
  inode.now.cut_to(size);
  inode.unsynced.erase(inode.unsynced.lower_bound(size / kSectorBytes), inode.unsynced.end());
  inode.is_cut = true;
  const std::uint64_t last = size / kSectorBytes;
  if (inode.now.sector(last) != inode.synced.sector(last)) inode.unsynced[last].push_back(inode.now.sector(last));
}

void SimulatedDisk::sync(Inode& inode) {
  std::map<std::uint64_t, std::vector<Sector>> still_lost;
  for (const std::uint64_t number : inode.lost) still_lost[number] = inode.unsynced[number];
  if (inode.is_cut) {
    Image synced = inode.now;
    for (const std::uint64_t number : inode.lost) synced.set(number, inode.synced.sector(number));
    inode.synced = std::move(synced);
  } else {
    inode.synced.size = inode.now.size;
    for (const auto& [number, versions] : inode.unsynced) {
      if (!inode.lost.contains(number)) inode.synced.set(number, inode.now.sector(number));
    }
  }
  inode.is_cut = false;
  inode.unsynced = std::move(still_lost);
}

// --- What is left after a cut ----------------------------------------------------------------------------------------

SimulatedDisk::Sector SimulatedDisk::sector_after_cut(const Sector& synced, const std::vector<Sector>& versions,
                                                      Fate fate, std::mt19937_64& random) {
  // Within what differs: elsewhere a tear is none.
  const auto torn = [&](const Sector& version) {
    const auto first = std::mismatch(version.begin(), version.end(), synced.begin()).first;
    const auto last = std::mismatch(version.rbegin(), version.rend(), synced.rbegin()).first;
    if (first == version.end()) return version;
    const auto begin = static_cast<std::size_t>(first - version.begin());
    const auto end = kSectorBytes - static_cast<std::size_t>(last - version.rbegin());
    const std::size_t at = begin + random() % (end - begin + 1);
    return version.substr(0, at) + synced.substr(at);
  };
  switch (fate) {
    case Fate::kDropped:
      return synced;
    case Fate::kKept:
      return versions.back();
    case Fate::kTorn:
      return torn(versions.back());
    case Fate::kRandomMix:
      break;
  }
  const Sector& version = versions[random() % versions.size()];
  switch (random() % 4) {
    case 0:
      return synced;
    case 1:
      return version;
    case 2:
      return versions.back();
    default:
      return torn(version);
  }
}

SimulatedDisk::Image SimulatedDisk::after_cut(const Inode& inode, Fate fate, std::mt19937_64& random) {
  Image image = inode.synced;
  for (const auto& [number, versions] : inode.unsynced) {
    image.set(number, sector_after_cut(image.sector(number), versions, fate, random));
  }
  std::uint64_t size = inode.synced.size;
  const auto [low, high] = std::minmax({inode.synced.size, inode.now.size});
  if (fate == Fate::kKept) size = inode.now.size;
  if (fate == Fate::kTorn) size = low + random() % (high - low + 1);
  if (fate == Fate::kRandomMix && random() % 2 == 0) size = random() % 2 == 0 ? low : high;
  image.cut_to(size);
  return image;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::cut_power(Fate fate, std::uint64_t seed) const {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  Names names = synced_names_;
  const std::size_t kept = unsynced_names_.empty() ? 0 : random() % (unsynced_names_.size() + 1);
  for (std::size_t i = 0; i < unsynced_names_.size(); ++i) {
    const bool is_kept =
        fate == Fate::kKept || (fate == Fate::kTorn && i < kept) || (fate == Fate::kRandomMix && random() % 2 == 0);
    if (is_kept) apply(names, unsynced_names_[i]);
  }
  auto found = std::make_unique<SimulatedDisk>();
  found->directories_ = directories_;
  for (const auto& [path, inode] : names) {
    auto copy = std::make_shared<Inode>();
    copy->now = copy->synced = after_cut(*inode, fate, random);
    found->names_[path] = std::move(copy);
  }
  found->synced_names_ = found->names_;
  return found;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::kill_process() const {
  const std::lock_guard lock(mutex_);
  auto found = std::make_unique<SimulatedDisk>();
  std::map<const Inode*, std::shared_ptr<Inode>> copies;
  const auto copy_of = [&copies](const std::shared_ptr<Inode>& inode) {
    if (inode == nullptr) return std::shared_ptr<Inode>();
    auto& copy = copies[inode.get()];
    if (copy == nullptr) copy = std::make_shared<Inode>(*inode);
    return copy;
  };
  for (const auto& [path, inode] : names_) found->names_[path] = copy_of(inode);
  for (const auto& [path, inode] : synced_names_) found->synced_names_[path] = copy_of(inode);
  for (const NameChange& change : unsynced_names_) {
    found->unsynced_names_.push_back({change.from, change.to, copy_of(change.inode)});
  }
  found->directories_ = directories_;
  return found;
}

// --- Calls -----------------------------------------------------------------------------------------------------------

void SimulatedDisk::fail_call(std::uint64_t number, Failure failure) {
  const std::lock_guard lock(mutex_);
  failing_call_ = number;
  failure_ = failure;
}

std::uint64_t SimulatedDisk::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::optional<Error> SimulatedDisk::begin_call(const std::string& what, bool is_writing) {
  ++calls_;
  if (failing_call_ == 0) return std::nullopt;
  if (failure_ == Failure::kInputOutput && calls_ == failing_call_) return failed(what, "Input/output error");
  if (failure_ == Failure::kNoSpace && calls_ >= failing_call_ && is_writing) {
    return failed(what, "No space left on device");
  }
  return std::nullopt;
}

void SimulatedDisk::announce_change() const {
  if (before_change_) before_change_();
}

void SimulatedDisk::apply(Names& names, const NameChange& change) {
  const bool was_there = change.from.empty() || names.erase(change.from) > 0;
  if (was_there && !change.to.empty()) names[change.to] = change.inode;
}

void SimulatedDisk::change_names(NameChange change) {
  apply(names_, change);
  unsynced_names_.push_back(std::move(change));
}

Result<std::unique_ptr<journal::File>> SimulatedDisk::open(const std::string& path, Mode mode) {
  if (mode == Mode::kCreate) announce_change();
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("opening " + path, mode == Mode::kCreate)) return *error;
  const auto found = names_.find(path);
  if (mode == Mode::kCreate) {
    if (found != names_.end()) return failed("creating " + path, "File exists");
    change_names({.from = "", .to = path, .inode = std::make_shared<Inode>()});
  } else if (found == names_.end()) {
    return failed("opening " + path, "No such file or directory");
  }
  return std::make_unique<SimulatedFile>(*this, path, names_.at(path));
}

Result<std::vector<std::string>> SimulatedDisk::list(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("listing " + directory, false)) return *error;
  std::vector<std::string> names;
  for (const auto& [path, inode] : names_) {
    if (directory_of(path) == directory) names.push_back(path.substr(directory.size() + 1));
  }
  return names;
}

Result<void> SimulatedDisk::make_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("making the directory " + path, true)) return *error;
  directories_.insert(path);
  return {};
}

Result<void> SimulatedDisk::rename(const std::string& from, const std::string& to) {
  announce_change();
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("renaming " + from + " to " + to, false)) return *error;
  const auto found = names_.find(from);
  if (found == names_.end()) return failed("renaming " + from + " to " + to, "No such file or directory");
  change_names({.from = from, .to = to, .inode = found->second});
  return {};
}

Result<void> SimulatedDisk::remove(const std::string& path) {
  announce_change();
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("removing " + path, false)) return *error;
  if (!names_.contains(path)) return failed("removing " + path, "No such file or directory");
  change_names({.from = path, .to = "", .inode = nullptr});
  return {};
}

Result<void> SimulatedDisk::sync_directory(const std::string& path) {
  announce_change();
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("sync of the directory " + path, false)) return *error;
  std::vector<NameChange> others;
  for (NameChange& change : unsynced_names_) {
    if (directory_of(change.to.empty() ? change.from : change.to) == path) {
      apply(synced_names_, change);
    } else {
      others.push_back(std::move(change));
    }
  }
  unsynced_names_ = std::move(others);
  return {};
}

Result<std::unique_ptr<journal::DirectoryLock>> SimulatedDisk::lock(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (auto error = begin_call("locking " + directory, false)) return *error;
  if (!locked_.insert(directory).second) return failed("locking " + directory, "it is in use by another process");
  return std::make_unique<SimulatedLock>(*this, directory);
}

// --- For tests -------------------------------------------------------------------------------------------------------

std::string SimulatedDisk::content(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  CHECK(found != names_.end());
  return found->second->now.bytes();
}

void SimulatedDisk::put(const std::string& path, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  auto inode = std::make_shared<Inode>();
  write(*inode, 0, bytes);
  sync(*inode);
  names_[path] = inode;
  synced_names_[path] = std::move(inode);
}

std::vector<std::string> SimulatedDisk::paths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, inode] : names_) paths.push_back(path);
  return paths;
}

}  // namespace mete::support
