// Link: the way to one Redis or Valkey, whatever shape it has: one server, a master that Sentinels name, or a Cluster.
//
//     Batch batch;
//     batch.add("{alice}", {"GET", "mete:{alice}:api"});
//     batch.add_script("{alice}", script, 1, words);
//     std::vector<Result<wire::RespValue>> replies;
//     link->run(batch, replies);            // replies[i] answers command i
//
// All commands of a batch leave in one write per node, and run() returns when each has its reply or has failed. An
// error reply of Redis is a value, with is_error(), unless it is about the way there (LOADING, READONLY, MOVED, ASK,
// TRYAGAIN, CLUSTERDOWN, MASTERDOWN, NOSCRIPT, UNBLOCKED…): those the link deals with itself, or turns into
// kUnavailable when the time-out is over. A failed command may have happened or not, if its bytes had left; nothing
// that may have happened is sent a second time, but where Redis itself said that it did not do it.
// Commands of a batch do not build on each other: one that is sent again comes after those behind it.
//
// Never a hang: run() takes the time-out at most. While a node is known to be away, commands for it fail at once (a
// circuit breaker), and one attempt now and then finds out that it is back; nobody needs to restart anything.
//
// Thread safety: every call, from any thread. A thread takes a connection from a pool for the time of its call: as many
// connections as threads that are on the way at a time.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "store/redis/client/batch.h"
#include "store/remote.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {

using Replies = std::vector<Result<wire::RespValue>>;

class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  // `replies` is made as long as the batch.
  virtual void run(Batch& batch, Replies& replies) = 0;

  // Whether keys of different hash tags may lie on different nodes.
  [[nodiscard]] virtual bool is_cluster() const = 0;
  // Runs the batch on one of the masters, by its number, for SCAN and the like, and tells how many there are. Numbers
  // stay while the topology does. The batch's routing keys do not matter.
  virtual Result<std::size_t> run_on_node(std::size_t number, Batch& batch, Replies& replies) = 0;

  // Listens on a channel: blocks until a message comes or the time is over; true for a message. It keeps a connection
  // of its own. After a failure (kUnavailable), which takes as long as a silence, the next call connects anew. One
  // thread at a time.
  virtual Result<bool> wait_for_message(std::string_view channel, Duration at_most) = 0;
  // Ends a wait_for_message() that is under way on another thread, now and for ever.
  virtual void stop_listening() = 0;

  [[nodiscard]] virtual RemoteStatus status() const = 0;
};

// Opens the way, and checks it: connects, authenticates, loads the scripts, which outlive the link. Whoever has none
// leaves none behind, and needs no right to load any. `url`:
//   redis://[[user]:password@]host[:port][/db][?…]   rediss://… (TLS) redis+sentinel://…@host:port,host:port/name[/db]
//   redis+cluster://host:port,host:port   (rediss+sentinel://, rediss+cluster://: the same over TLS)
//   unix sockets: redis://unix:/path is written redis+unix:///path
// parameters: timeout=250ms (for each call), ca=, cert=, key=, verify=no (TLS), sentinel_user=, sentinel_password=.
// An error says what is wrong with the URL, or why the server does not answer, and what to do; a password is not in it.
Result<std::unique_ptr<Link>> open_link(std::string_view url, std::span<const Script> scripts = {});

}  // namespace mete::store::redis
