#include "store/etcd/client.h"

#include <chrono>
#include <utility>

#include "base/random.h"
#include "base/try.h"
#include "net/fiber.h"

namespace mete::store::etcd {

namespace {

constexpr std::int64_t kPauseMsMin = 20;  // while there is an election
constexpr std::int64_t kPauseMsMax = 60;

// What etcd says when it has certainly done nothing.
constexpr std::string_view kNoLeader = "etcdserver: no leader";
constexpr std::string_view kInvalidToken = "etcdserver: invalid auth token";
constexpr std::string_view kOldToken = "etcdserver: revision of auth store is old";
constexpr std::string_view kNoUser = "etcdserver: user name is empty";
constexpr std::string_view kTooLarge = "etcdserver: request is too large";
constexpr std::string_view kTooManyOperations = "etcdserver: too many operations in txn request";
constexpr std::string_view kNoSpace = "etcdserver: mvcc: database space exceeded";

bool is_about_token(const GrpcReply& reply) { return reply.words == kInvalidToken || reply.words == kOldToken; }

// What to do about a refusal, behind its words.
std::string_view remedy_for(const GrpcReply& reply) {
  if (reply.words == kNoUser) return "; put them into the URL: etcd://user:password@host";
  if (reply.words == kTooLarge) return "; start etcd with a larger --max-request-bytes";
  if (reply.words == kTooManyOperations) return "; start etcd with --max-txn-ops=128 or more";
  if (reply.words == kNoSpace) return "; compact and defragment it, and clear its alarm: etcdctl alarm disarm";
  if (reply.status == GrpcStatus::kPermissionDenied) return "; the user needs to read and write all keys of the prefix";
  return "";
}

// Whether the server refused the request itself: that will be so next time, and at each other member.
bool is_refusal(GrpcStatus status) {
  return status == GrpcStatus::kInvalidArgument || status == GrpcStatus::kPermissionDenied ||
         status == GrpcStatus::kUnauthenticated || status == GrpcStatus::kFailedPrecondition ||
         status == GrpcStatus::kOutOfRange;
}

Error told_by(const net::Address& address, const std::string& words, ErrorCode code = ErrorCode::kUnavailable) {
  return {code, "etcd at " + address.to_string() + ": " + words};
}

}  // namespace

Client::Client(const Url& url, std::unique_ptr<net::TlsClient> tls)
    : credentials_(url.credentials), tls_(std::move(tls)) {
  for (const net::Address& host : url.hosts) {
    const auto open_line = [this, host](const net::Deadline& deadline) -> Result<std::shared_ptr<GrpcConnection>> {
      auto line = TRY(GrpcConnection::open(host, tls_.get(), deadline));
      distance_ns_.store(line->distance().ns(), std::memory_order_relaxed);
      return line;
    };
    members_.emplace_back(
        new Member{host, Lines<GrpcConnection>({.server = "etcd at " + host.to_string(), .open = open_line})});
  }
}

Outcome<TxnAnswer> Client::run(const Txn& txn, const net::Deadline& deadline) {
  const std::string message = encode(txn);
  const bool changes = txn.has_changes();
  const GrpcRequest request = {.path = kTxnPath, .message = message};
  for (;;) {
    Attempt attempt = try_members(request, changes, deadline);
    if (attempt) {
      auto answer = decode_txn(*attempt);
      if (answer) return std::move(*answer);
      attempt = Trouble{{answer.error(), changes}};
    }
    if (attempt.error().next == Next::kAwaitLeader && !deadline.is_over()) {
      const auto ms = static_cast<std::int64_t>(base::random_number() % (kPauseMsMax - kPauseMsMin)) + kPauseMsMin;
      net::pause_for(std::chrono::milliseconds(ms));
      continue;
    }
    if (attempt.error().failure.error.code == ErrorCode::kUnavailable) {
      failures_.fetch_add(1, std::memory_order_relaxed);
    }
    return std::move(attempt.error().failure);
  }
}

// Each once, the one that answered last first. The last trouble is told; but one that time will mend comes first.
Client::Attempt Client::try_members(const GrpcRequest& request, bool changes, const net::Deadline& deadline) {
  const std::size_t first = preferred_.load(std::memory_order_relaxed);
  Attempt last = Trouble();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t member = (first + i) % members_.size();
    Attempt attempt = try_member(*members_[member], request, changes, deadline.share(members_.size() - i));
    if (attempt || attempt.error().next == Next::kTellCaller) {
      if (attempt) preferred_.store(member, std::memory_order_relaxed);
      return attempt;
    }
    if (last || last.error().next != Next::kAwaitLeader) last = std::move(attempt);
  }
  preferred_.store((first + 1) % members_.size(), std::memory_order_relaxed);
  return last;
}

Client::Attempt Client::try_member(Member& member, GrpcRequest request, bool changes, const net::Deadline& deadline) {
  if (credentials_.user.empty()) return ask(member, request, changes, deadline);
  for (bool is_renewed = false;; is_renewed = true) {
    std::string known = token();
    if (known.empty() || is_renewed) {
      auto made = TRY(authenticate(member, deadline));
      known = std::move(made);
    }
    request.token = known;
    auto attempt = ask(member, request, changes, deadline);
    const bool is_too_old = !attempt && (attempt.error().failure.error.message.ends_with(kInvalidToken) ||
                                         attempt.error().failure.error.message.ends_with(kOldToken));
    if (is_renewed || !is_too_old) return attempt;
  }
}

Client::Attempt Client::ask(Member& member, const GrpcRequest& request, bool changes, const net::Deadline& deadline) {
  auto lease = member.lines.borrow(deadline);
  if (!lease) return Trouble{{lease.error()}, Next::kAskAnother};
  auto reply = lease->line->call(request, deadline);
  if (!reply) {
    member.lines.drop(*lease, deadline.is_over());
    const Error error = told_by(member.address, reply.error().message);
    return Trouble{{error, changes}, changes ? Next::kTellCaller : Next::kAskAnother};
  }
  member.lines.give_back(std::move(*lease));
  if (reply->status == GrpcStatus::kOk) return std::move(reply->message);
  const std::string words = reply->words + std::string(remedy_for(*reply));
  if (reply->words == kNoLeader) {
    return Trouble{{told_by(member.address, words)}, Next::kAwaitLeader};
  }
  if (is_about_token(*reply)) {
    return Trouble{{told_by(member.address, words, ErrorCode::kUnavailable)}, Next::kTellCaller};
  }
  if (is_refusal(reply->status)) {
    return Trouble{{told_by(member.address, words, ErrorCode::kInvalid)}, Next::kTellCaller};
  }
  // It has too much to do, or no room: nothing was done. All else may come after the fact.
  const bool may_have_happened = changes && reply->status != GrpcStatus::kResourceExhausted;
  return Trouble{{told_by(member.address, words), may_have_happened}, changes ? Next::kTellCaller : Next::kAskAnother};
}

Client::Attempt Client::authenticate(Member& member, const net::Deadline& deadline) {
  const std::string message = encode_authenticate(credentials_.user, credentials_.password);
  auto reply = TRY(ask(member, {.path = kAuthenticatePath, .message = message}, false, deadline));
  auto made = decode_token(reply);
  if (!made) return Trouble{{made.error()}};
  const std::lock_guard lock(token_mutex_);
  token_ = *made;
  return std::move(*made);
}

std::string Client::token() const {
  const std::lock_guard lock(token_mutex_);
  return token_;
}

RemoteStatus Client::status() const {
  RemoteStatus status = {.shape = "etcd", .nodes = {}, .failures = failures_.load(std::memory_order_relaxed)};
  std::size_t away = 0;
  for (const auto& member : members_) {
    member->lines.add_to(status);
    if (member->lines.is_away()) {
      ++away;
    } else {
      status.nodes.push_back(member->address.to_string());
    }
  }
  status.is_reachable = away < members_.size();
  return status;
}

}  // namespace mete::store::etcd
