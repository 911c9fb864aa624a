#include "escrow/counters/exchange.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/errors.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "wire/resp_command.h"

namespace mete::escrow {

// Used on the thread alone, but for what status() tells.
struct CounterExchange::Link {
  PeerAddress peer;
  PeerLogin login = {};
  std::optional<PeerConnection> connection = {};
  Progress progress = {};
  bool is_busy = false;
  Instant ask_at = {};  // when it is tried again, or asked whether it is there
  Instant try_at = {};
  Duration pause = kPauseMin;

  // Under mutex_.
  PeerStatus status = {};
  Counters::Cursor noted = {};
  Writer noted_peer = {};
};

CounterExchange::CounterExchange(Parts parts) : parts_(std::move(parts)), credentials_(parts_.credentials) {
  thread_ = std::thread([this] {
    look();
    loop_.run();
  });
}

CounterExchange::~CounterExchange() {
  stop_soon();
  thread_.join();
}

void CounterExchange::stop_soon() {
  std::call_once(stopping_, [this] { loop_.post([this] { finish(); }); });
}

void CounterExchange::set_peers(std::vector<PeerAddress> peers) {
  if (peers.size() > kPeersMax) peers.resize(kPeersMax);
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Link>> links;
  for (PeerAddress& peer : peers) {
    const auto same = std::find_if(links_.begin(), links_.end(), [&](const auto& link) { return link->peer == peer; });
    if (same != links_.end()) {
      links.push_back(*same);
      continue;
    }
    auto link = std::make_shared<Link>(Link{.peer = std::move(peer)});
    link->status.name = link->peer.name;
    link->status.address = link->peer.address;
    links.push_back(std::move(link));
  }
  links_ = std::move(links);
}

void CounterExchange::set_credentials(std::shared_ptr<const PeerCredentials> credentials) {
  const std::lock_guard lock(mutex_);
  credentials_ = std::move(credentials);
}

std::vector<PeerStatus> CounterExchange::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<PeerStatus> all;
  for (const auto& link : links_) {
    const Source source = link->noted_peer.node.empty() ? kNobody : source_of(link->noted_peer);
    all.push_back(link->status);
    all.back().lag = parts_.counters->count_changes(link->noted, source);
  }
  return all;
}

std::optional<Error> CounterExchange::disk_failure() const {
  const std::lock_guard lock(mutex_);
  return disk_failure_;
}

std::vector<std::shared_ptr<CounterExchange::Link>> CounterExchange::links() const {
  const std::lock_guard lock(mutex_);
  return links_;
}

std::shared_ptr<const PeerCredentials> CounterExchange::credentials() const {
  const std::lock_guard lock(mutex_);
  return credentials_;
}

// --- On the thread ---------------------------------------------------------------------------------------------------

void CounterExchange::look() {
  // Everybody has been brought what there was, or has not answered.
  if (is_finishing_ && fibers_.under_way() == 0) return loop_.stop();
  if (!is_finishing_) {
    if (base::monotonic_now() - written_at_ >= kWriteEvery) write_file();
    for (const std::shared_ptr<Link>& link : links()) {
      if (!link->is_busy && is_due(*link)) begin(link);
    }
  }
  loop_.after(kLookEvery, [this] { look(); });
}

void CounterExchange::finish() {
  for (const std::shared_ptr<Link>& link : links()) {
    const bool has_changes = parts_.counters->has_changes_since(link->progress.acknowledged());
    if (!link->is_busy && link->connection && has_changes) begin(link);
  }
  is_finishing_ = true;
  if (parts_.file == nullptr) return;
  if (const auto ended = parts_.file->end(*parts_.counters, parts_.clock->now()); !ended && parts_.log != nullptr) {
    parts_.log->error("counters are not on disk", {{"reason", ended.error().message}});
  }
}

void CounterExchange::write_file() {
  written_at_ = base::monotonic_now();
  if (parts_.file == nullptr || disk_failure()) return;
  const auto written = parts_.file->write_changes(*parts_.counters, parts_.clock->now());
  if (written) return;
  {
    const std::lock_guard lock(mutex_);
    disk_failure_ = written.error();
  }
  if (parts_.log != nullptr) {
    parts_.log->error("counters do not reach the disk any more; the other nodes still get them",
                      {{"reason", written.error().message}});
  }
}

bool CounterExchange::is_due(const Link& link) const {
  const Instant now = base::monotonic_now();
  if (now < link.try_at) return false;
  return now >= link.ask_at || parts_.counters->has_changes_since(link.progress.acknowledged());
}

void CounterExchange::begin(const std::shared_ptr<Link>& link) {
  link->is_busy = true;
  fibers_.run([this, link] {
    talk(*link);
    link->is_busy = false;
  });
}

void CounterExchange::talk(Link& link) {
  const auto bring_all = [&]() -> Result<void> {
    bool has_more = false;
    do {
      has_more = TRY(bring(link, net::Deadline::in(kAnswerWithin)));
    } while (has_more && !is_finishing_);
    return {};
  };
  note(link, bring_all());
}

// Whether there may be more. Of a busy counter there always is: what is less than a batch is all for now.
Result<bool> CounterExchange::bring(Link& link, const net::Deadline& deadline) {
  if (!link.connection) {
    link.connection = TRY(link.login.connect(link.peer.address, credentials(), deadline));
  }
  const Counters::Changes changes = link.progress.next(*parts_.counters, parts_.clock->now());
  std::size_t bytes = 0;
  Writer peer;
  if (changes.states.empty()) peer = TRY(ask(link, {}, deadline));
  for (const std::string& piece : changes.states) {
    peer = TRY(ask(link, piece, deadline));
    bytes += piece.size();
  }
  const bool is_known = peer == link.progress.peer();
  link.progress.answered(changes.cursor, peer, base::monotonic_now());
  return !is_known || bytes >= Progress::kBatchBytes;
}

Result<Writer> CounterExchange::ask(Link& link, std::string_view states, const net::Deadline& deadline) {
  const Writer& self = parts_.counters->self();
  const std::string cluster = std::to_string(parts_.cluster);
  const std::string incarnation = std::to_string(self.incarnation);
  const auto reply =
      TRY(link.connection->client.call({"STORE", "MERGE", cluster, self.node, incarnation, states}, deadline));
  if (reply.is_error()) return base::invalid("the other node refuses: " + reply.text);
  const bool is_good = reply.elements.size() == 2 && reply.elements[1].integer > 0;
  if (!is_good) return base::invalid("what is there is no node of this version");
  if (reply.elements[0].text != link.peer.name) {
    return base::invalid("node '" + reply.elements[0].text + "' is there, and not '" + link.peer.name + "'");
  }
  return Writer{reply.elements[0].text, static_cast<std::uint64_t>(reply.elements[1].integer)};
}

void CounterExchange::note(Link& link, const Result<void>& done) {
  const Instant now = base::monotonic_now();
  link.ask_at = now + kAskEvery;
  if (!done) {
    link.connection.reset();
    link.pause = std::min(link.pause * 2, kPauseMax);
    link.try_at = now + link.pause;
    link.ask_at = link.try_at;
  } else {
    link.pause = kPauseMin;
  }
  bool was_connected = false;
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    const std::string error = done ? std::string() : done.error().message;
    was_connected = std::exchange(link.status.is_connected, done.has_value());
    is_news = was_connected != done.has_value() || error != link.status.last_error;
    link.status.last_error = error;
    link.noted = link.progress.acknowledged();
    link.noted_peer = link.progress.peer();
  }
  // It is tried several times a second: what is wrong is said once.
  if (!is_news || parts_.log == nullptr) return;
  if (done) {
    parts_.log->info("counters are exchanged", {{"node", link.peer.name}, {"address", link.peer.address}});
  } else {
    parts_.log->warning(
        was_connected ? "a node was lost: it gets counters when it is back" : "counters cannot be exchanged",
        {{"node", link.peer.name}, {"address", link.peer.address}, {"reason", done.error().message}});
  }
}

}  // namespace mete::escrow
