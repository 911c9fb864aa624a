// Registration: this node among those of its cluster, from its start until it stops: the registry and what the node
// remembers on disk, for several threads.
//
//     auto registration =
//         Registration::take(shared, {.name = "a", .address = "10.0.0.1:7380", .directory = "./mete-data", …});
//     every second or so, and before something is done that must not be done to a store of another cluster:
//         registration->confirm();
//     from any thread:
//         registration->lost();     // why this node must not draw any more
//         registration->nodes();
//
// Its end gives the name free, if the shared store can be reached. Thread safety: every call from any thread. The store
// and the file system are borrowed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "escrow/nodes/memory.h"
#include "escrow/nodes/registry.h"
#include "journal/file_system.h"
#include "net/fiber_mutex.h"

namespace mete::escrow {

class Registration {
 public:
  struct Options {
    std::string name;     // is_node_name()
    std::string address;  // where other nodes find this one; empty: nowhere
    // Of the node's own state, locked by whoever has opened it. Empty: nothing outlives the process, and a node that is
    // killed has to wait until its name is free.
    std::string directory;
    journal::FileSystem* files = nullptr;
    std::function<void(Duration)> wait;  // called while a predecessor of this node may still be alive: a few times
  };

  // An error says why this node must not start, or that the store was not reached.
  static Result<std::unique_ptr<Registration>> take(store::Store& shared, const Options& options);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // How many signs of life a node may have given, for all that its directory says: a start notices the loss of more.
  static constexpr std::int64_t kBeatsUnsaved = 10;

  // Tells the others that this node is alive, and looks whether the shared store is still what it was. An error: it is
  // not, or another node has come in the place of this one (see lost()); or the store has not answered. One asks for
  // all who want to know meanwhile.
  Result<void> confirm();
  // Why this node must not draw any more, for good: it was fenced, or the shared store was wiped or has gone back.
  [[nodiscard]] std::optional<Error> lost() const;
  // As of the last confirm() that succeeded: the time by which the shared store goes (Roll::Beat).
  [[nodiscard]] Duration clock() const;
  // As of the last answer of the shared store: waits for nothing.
  [[nodiscard]] std::vector<NodeInfo> nodes() const;
  [[nodiscard]] const Node& self() const { return self_; }
  [[nodiscard]] ClusterNumber cluster() const { return cluster_; }
  // Whether this data directory was in no cluster before. What it has of shares all the same is from a backup.
  [[nodiscard]] bool is_new() const { return is_new_; }

 private:
  using Remember = std::function<Result<void>(const Remembered&)>;
  Registration(Registry registry, bool is_new, Remember remember);
  Result<void> ask();
  void save_beats();

  net::FiberMutex asking_;                       // held while the shared store is asked; taken before mutex_
  Registry registry_;                            // under asking_
  std::atomic<std::uint64_t> rounds_begun_ = 0;  // of asking; written under asking_
  Result<void> confirmed_;                       // what the last round has found; under asking_
  const Node self_;
  const ClusterNumber cluster_;
  const bool is_new_;
  const Remember remember_;       // empty: there is no disk
  std::int64_t beats_saved_ = 0;  // under asking_
  mutable std::mutex mutex_;
  // Under mutex_, as of the last answer, for who must not wait for the next:
  std::vector<NodeInfo> nodes_;
  Duration clock_;
  std::optional<Error> lost_;
};

}  // namespace mete::escrow
