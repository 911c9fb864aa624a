// SimulatedDisk: a FileSystem in memory that can fail any call, and tell what would be found on it if the power were
// cut.
//
// What is written is seen at once and kept by nothing but a sync of the file; what is created, renamed and removed by
// nothing but a sync of the directory. Until then each sector (512 bytes) is lost, kept or torn for itself, and so are
// sizes and names. A sync that fails has lost what it was for: as on Linux, the next one does not bring it back.
//
// Thread safety: every call from any thread; the hook runs on the thread that changes something.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file_system.h"

namespace mete::support {

class SimulatedDisk final : public journal::FileSystem {
 public:
  // What happens to that which is not synced when the power is cut.
  enum class Fate : std::uint8_t {
    kDropped,
    kKept,
    kTorn,       // a part of each sector, of the names those of the first operations
    kRandomMix,  // each sector and each name for itself; a sector may also be one that was written earlier
  };
  enum class Failure : std::uint8_t {
    kInputOutput,  // once
    kNoSpace,      // from then on, for all that writes or creates
    kShortWrite,   // once: half of a write, which is no error
  };

  SimulatedDisk() = default;

  // The disk as it is found after a power cut at this moment. This one goes on.
  [[nodiscard]] std::unique_ptr<SimulatedDisk> cut_power(Fate fate, std::uint64_t seed) const;
  // As the next process finds it if this one is killed: with everything, but what is not synced still is not.
  [[nodiscard]] std::unique_ptr<SimulatedDisk> kill_process() const;

  // Called before each write, truncation, creation, renaming, removal and sync: the moments at which a cut differs.
  void before_change(std::function<void()> hook) { before_change_ = std::move(hook); }
  // The call of that number fails, the first being 1. Calls of every kind count.
  void fail_call(std::uint64_t number, Failure failure);
  [[nodiscard]] std::uint64_t calls() const;

  // For tests that change what is there: everything about it is on disk.
  [[nodiscard]] std::string content(const std::string& path) const;
  void put(const std::string& path, std::string_view bytes);
  [[nodiscard]] std::vector<std::string> paths() const;

  [[nodiscard]] Result<std::unique_ptr<journal::File>> open(const std::string& path, Mode mode) override;
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<journal::DirectoryLock>> lock(const std::string& directory) override;

 private:
  friend class SimulatedFile;
  friend class SimulatedLock;

  static constexpr std::size_t kSectorBytes = 512;
  static constexpr std::size_t kVersionsMax = 8;  // of a sector that is written again and again without a sync
  using Sector = std::string;                     // kSectorBytes; none stands for zeros

  struct Image {
    std::uint64_t size = 0;
    std::map<std::uint64_t, Sector> sectors;  // by their number; without those that are zeros

    [[nodiscard]] Sector sector(std::uint64_t number) const;
    void set(std::uint64_t number, const Sector& sector);
    void cut_to(std::uint64_t bytes);
    [[nodiscard]] std::string bytes() const;
  };
  struct Inode {
    Image now;
    Image synced;
    std::map<std::uint64_t, std::vector<Sector>> unsynced;  // what was written since, the newest last
    bool is_cut = false;           // since the last sync: then more than `unsynced` has changed
    std::set<std::uint64_t> lost;  // by a sync that failed
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  // A change of names: `from` is empty for a creation, `to` for a removal.
  struct NameChange {
    std::string from;
    std::string to;
    std::shared_ptr<Inode> inode;
  };

  // Counts a call; an error if it is the one to fail. `is_writing`: it would need room.
  [[nodiscard]] std::optional<Error> begin_call(const std::string& what, bool is_writing);
  void announce_change() const;
  void change_names(NameChange change);

  static void apply(Names& names, const NameChange& change);
  static void write_sector(Inode& inode, std::uint64_t number, std::size_t from, std::string_view bytes);
  static void write(Inode& inode, std::uint64_t offset, std::string_view bytes);
  static void truncate(Inode& inode, std::uint64_t size);
  static void sync(Inode& inode);
  static Image after_cut(const Inode& inode, Fate fate, std::mt19937_64& random);
  static Sector sector_after_cut(const Sector& synced, const std::vector<Sector>& versions, Fate fate,
                                 std::mt19937_64& random);

  mutable std::mutex mutex_;
  Names names_;
  Names synced_names_;
  std::vector<NameChange> unsynced_names_;
  std::set<std::string> directories_;
  std::set<std::string> locked_;
  std::function<void()> before_change_;
  std::uint64_t calls_ = 0;
  std::uint64_t failing_call_ = 0;
  Failure failure_ = Failure::kInputOutput;
};

}  // namespace mete::support
