#include "escrow/others/other_nodes.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/monotonic.h"
#include "base/try.h"

namespace mete::escrow {

namespace {

constexpr Duration kLookWhetherOver = std::chrono::milliseconds(5);
constexpr std::size_t kNumbersOfAKey = 4;

}  // namespace

struct OtherNodes::Link {
  PeerAddress peer;
  PeerLogin login = {};
  std::vector<PeerConnection> idle = {};
  std::size_t in_use = 0;
  Instant silent_until = {};
};

struct OtherNodes::Round {
  std::vector<std::string> words = {};
  std::vector<NodeShare> shares = {};
  std::size_t missing = 0;
  Done done = {};
};

OtherNodes::OtherNodes(Parts parts) : cluster_(parts.cluster), credentials_(std::move(parts.credentials)) {
  thread_ = std::thread([this] { loop_.run(); });
}

OtherNodes::~OtherNodes() {
  is_stopping_ = true;
  loop_.post([this] { finish(); });
  thread_.join();
}

void OtherNodes::finish() {
  if (fibers_.under_way() == 0) return loop_.stop();
  loop_.after(kLookWhetherOver, [this] { finish(); });
}

void OtherNodes::set_peers(std::vector<PeerAddress> peers) {
  loop_.post([this, peers = std::move(peers)] {
    std::vector<std::shared_ptr<Link>> links;
    for (const PeerAddress& peer : peers) {
      const auto same =
          std::find_if(links_.begin(), links_.end(), [&](const auto& link) { return link->peer == peer; });
      links.push_back(same != links_.end() ? *same : std::make_shared<Link>(Link{.peer = peer}));
    }
    links_ = std::move(links);
  });
}

// Who has refused the old ones may take these.
void OtherNodes::set_credentials(std::shared_ptr<const PeerCredentials> credentials) {
  loop_.post([this, credentials = std::move(credentials)]() mutable {
    credentials_ = std::move(credentials);
    for (const std::shared_ptr<Link>& link : links_) {
      link->idle.clear();
      link->silent_until = {};
    }
  });
}

void OtherNodes::ask(ShareQuestion question, Done done) {
  auto round = std::make_shared<Round>();
  round->shares.resize(question.keys.size());
  round->words = {"STORE", "SHARES", std::to_string(cluster_), std::move(question.limit),
                  question.gives_back ? "1" : "0"};
  std::move(question.keys.begin(), question.keys.end(), std::back_inserter(round->words));
  round->done = std::move(done);
  if (is_stopping_) return round->done(round->shares);
  loop_.post([this, round = std::move(round)] { begin(round); });
}

void OtherNodes::begin(const std::shared_ptr<Round>& round) {
  const Instant now = base::monotonic_now();
  const auto end_one = [round] {
    if (--round->missing == 0) round->done(round->shares);
  };
  round->missing = 1;
  for (const std::shared_ptr<Link>& link : links_) {
    if (now < link->silent_until || link->in_use >= kConnectionsMax) continue;
    ++round->missing;
    fibers_.run([this, round, link, end_one] {
      ++link->in_use;
      const auto asked = ask_one(*link, *round);
      --link->in_use;
      if (!asked.has_value()) link->silent_until = base::monotonic_now() + kSilentFor;
      end_one();
    });
  }
  end_one();
}

Result<void> OtherNodes::ask_one(Link& link, Round& round) {
  const net::Deadline deadline = net::Deadline::in(kAnswerWithin);
  PeerConnection connection = TRY(connect(link, deadline));
  const std::vector<std::string_view> words(round.words.begin(), round.words.end());
  const auto reply = TRY(connection.client.call(words, deadline));
  if (reply.is_error()) return base::invalid("the other node refuses: " + reply.text);
  if (reply.elements.size() != round.shares.size() * kNumbersOfAKey) {
    return base::invalid("what is there is no node of this version");
  }
  for (std::size_t i = 0; i < round.shares.size(); ++i) {
    const auto number = [&](std::size_t which) { return reply.elements[i * kNumbersOfAKey + which].integer; };
    round.shares[i] += {.held = number(0), .spent = number(1), .usable = number(2), .returned = number(3)};
  }
  if (connection.credentials == credentials_) link.idle.push_back(std::move(connection));
  return {};
}

Result<PeerConnection> OtherNodes::connect(Link& link, const net::Deadline& deadline) {
  while (!link.idle.empty()) {
    PeerConnection connection = std::move(link.idle.back());
    link.idle.pop_back();
    if (connection.client.socket().is_quiet()) return connection;
  }
  return link.login.connect(link.peer.address, credentials_, deadline);
}

}  // namespace mete::escrow
