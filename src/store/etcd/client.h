// Client: transactions with an etcd cluster, by whichever of its members answers.
//
//     a member cannot be reached, or has no leader     ──→ the next one is asked, and is asked first from then on
//     no member has a leader                           ──→ asked again after a pause: there is an election
//     it was asked to change something, and is silent  ──→ kUnavailable, and it may have happened
//
// Everything ends by the deadline. Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/etcd/grpc_connection.h"
#include "store/etcd/messages.h"
#include "store/etcd/url.h"
#include "store/network/lines.h"
#include "store/remote.h"

namespace mete::store::etcd {

struct Failure {
  Error error;
  bool may_have_happened = false;
};
template <class T>
using Outcome = Result<T, Failure>;

class Client {
 public:
  // `tls`: null without.
  Client(const Url& url, std::unique_ptr<net::TlsClient> tls);

  Outcome<TxnAnswer> run(const Txn& txn, const net::Deadline& deadline);

  [[nodiscard]] RemoteStatus status() const;
  // What an answer takes that needs no work, as measured when the last connection was made.
  [[nodiscard]] Duration distance() const { return Duration::from_ns(distance_ns_.load(std::memory_order_relaxed)); }

 private:
  struct Member {
    net::Address address;
    Lines<GrpcConnection> lines;
  };
  enum class Next : std::uint8_t { kTellCaller, kAskAnother, kAwaitLeader };
  // Why there is no answer, and what to do about it.
  struct Trouble {
    Failure failure;
    Next next = Next::kTellCaller;
  };
  using Attempt = Result<std::string, Trouble>;

  Attempt try_members(const GrpcRequest& request, bool changes, const net::Deadline& deadline);
  Attempt try_member(Member& member, GrpcRequest request, bool changes, const net::Deadline& deadline);
  // The reply to a request, or why there is none; has the token renewed where it is too old.
  Attempt ask(Member& member, const GrpcRequest& request, bool changes, const net::Deadline& deadline);
  Attempt authenticate(Member& member, const net::Deadline& deadline);
  [[nodiscard]] std::string token() const;

  const Credentials credentials_;
  const std::unique_ptr<net::TlsClient> tls_;
  std::vector<std::unique_ptr<Member>> members_;
  std::atomic<std::size_t> preferred_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::int64_t> distance_ns_{0};
  mutable std::mutex token_mutex_;
  std::string token_;  // under token_mutex_; empty: none was asked for yet
};

}  // namespace mete::store::etcd
