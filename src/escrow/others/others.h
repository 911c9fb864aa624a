// Others: what the other nodes have of a limit of scope escrow. Each knows only its own shares, and the shared store
// has those as holds, of which nobody knows there how much is spent.
//
//     others.ask({.limit = "api", .keys = {"alice"}, .gives_back = true}, [](const auto& shares) { … });
//
// A seam: OtherNodes asks them at their RESP listeners, tests in their own ways. Thread safety: every call from any
// thread.
#pragma once

#include <mete/limit.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "escrow/others/peers.h"

namespace mete::escrow {

struct ShareQuestion {
  std::string limit = {};
  std::vector<std::string> keys = {};
  bool gives_back = false;  // what is asked of goes back to the shared store first: somebody else would be denied
};

// Of one key.
struct NodeShare {
  Amount held = 0;      // in the shared store
  Amount spent = 0;     // of that
  Amount usable = 0;    // and of that, what may still be spent
  Amount returned = 0;  // for this question

  NodeShare& operator+=(const NodeShare& other);
};

class Others {
 public:
  // By key, as the question has them: those of all nodes that have answered in time together.
  using Done = std::function<void(const std::vector<NodeShare>&)>;

  Others() = default;
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  virtual ~Others() = default;

  // `done` is called once, from any thread, perhaps before this returns.
  virtual void ask(ShareQuestion question, Done done) = 0;
  // Who they are, in place of those that were set before.
  virtual void set_peers(std::vector<PeerAddress> peers) = 0;
  // For connections from now on.
  virtual void set_credentials(std::shared_ptr<const PeerCredentials> credentials) = 0;

  // The same, and waits for it.
  std::vector<NodeShare> ask_and_wait(ShareQuestion question);
};

}  // namespace mete::escrow
