// Memory: how keys of etcd were when they were last seen, so that a transaction can begin without reading them.
//
// Of a limit and of the clock it must know. Of all else, meters, overrides and ids, it may guess that there is no such
// key, since most that were not seen lately are new. Either way etcd compares, so that a mistake costs a round trip and
// nothing else. Where others write a key too, and where a guess was wrong, the next few times it is read first.
//
// It has so many keys at most: those that were seen last, and some of those before.
//
// Thread safety: every call from any thread.
#pragma once

#include <map>
#include <mutex>
#include <span>

#include "store/etcd/image.h"

namespace mete::store::etcd {

class Memory {
 public:
  static constexpr std::size_t kKeysMax = std::size_t{1} << 17;
  static constexpr int kReadsAfterMistake = 16;

  // The entries as they are thought to be; false, and none of them, if they must be read.
  bool recall(std::span<const EntryName> entries, Image& image);
  void keep(const Image& image);
  // The key is not as it was recalled.
  void was_wrong(const EntryName& entry);
  void forget(std::span<const EntryName> entries);

 private:
  struct Known {
    Slot slot = {};
    int reads_to_come = 0;
  };
  using Keys = std::map<EntryName, Known>;

  // With mutex_ locked, all of these. Null: not known.
  Known* find(const EntryName& entry);
  bool must_read(std::span<const EntryName> entries);

  std::mutex mutex_;
  Keys young_;  // under mutex_, as all below
  Keys old_;    // those that were young before; each of the two has half of all at most
  int guesses_to_skip_ = 0;
};

}  // namespace mete::store::etcd
