#include "lab/cluster/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ostream>
#include <utility>

#include "base/errors.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "cli/client/connection.h"
#include "cli/client/replies.h"
#include "cli/frame/text.h"
#include "cli/top/reading.h"
#include "cli/top/terminal.h"
#include "store/open.h"

namespace mete::lab {

namespace {

using namespace std::chrono_literals;

constexpr Duration kStartPatience = 30s;
constexpr Duration kStopPatience = 10s;
constexpr Duration kReplyPatience = 500ms;
constexpr Duration kAskAgainAfter = 50ms;
constexpr Duration kStatusEvery = 1s;
constexpr std::string_view kClearLine = "\r\x1b[K";

// Its own settings are the plan's alone: what is set for another server or for another etcd does not count here.
std::map<std::string, std::string> environment_of_children(std::map<std::string, std::string> environment) {
  std::erase_if(environment,
                [](const auto& each) { return each.first.starts_with("METE_") || each.first.starts_with("ETCD_"); });
  return environment;
}

Result<wire::RespValue> ask_node(const PlannedNode& node, const std::vector<std::string>& words) {
  auto connection = TRY(cli::Connection::open({.address = node.address(), .timeout = kReplyPatience}));
  const std::vector<std::string_view> views(words.begin(), words.end());
  auto reply = connection.call(views);
  if (reply && reply->is_error()) return base::invalid(reply->text);
  return reply;
}

bool has_limit(const PlannedNode& node) {
  const auto limit = ask_node(node, {"LIMIT", "GET", std::string(kClusterLimit)});
  return limit && limit->type != wire::RespType::kNull;
}

std::string counted_peers(const cli::ClusterReading& reading) {
  return std::to_string(reading.linked()) + " of " + std::to_string(reading.peers.size()) + " linked";
}

}  // namespace

Cluster::Cluster(ClusterPlan plan, cli::Console& console, Signals& signals)
    : plan_(std::move(plan)),
      console_(console),
      signals_(signals),
      environment_(environment_of_children(console.environment)) {
  children_.reserve(plan_.nodes.size() + 1);
}

Result<void> Cluster::start() {
  TRY(start_shared());
  for (const PlannedNode& node : plan_.nodes) {
    TRY(start_child(node.process));
  }
  for (const PlannedNode& node : plan_.nodes) {
    const auto answers = [&] { return ask_node(node, {"PING"}).has_value(); };
    TRY(wait_until(node.process.name + " does not answer", answers));
  }
  return define_limit();
}

Result<void> Cluster::start_child(const PlannedProcess& planned) {
  auto child = TRY(Child::start(planned, environment_));
  children_.push_back(std::move(child));
  is_told_.push_back(false);
  return {};
}

Result<void> Cluster::start_shared() {
  if (!plan_.shared) {
    const auto store = store::open_store(plan_.shared_url, {});
    return store ? Result<void>() : store.error();
  }
  TRY(start_child(*plan_.shared));
  return wait_until("the shared store does not answer",
                    [this] { return store::open_store(plan_.shared_url, {}).has_value(); });
}

// A limit of that name may be there from before, in a directory or a store that was given: it stays as it is.
Result<void> Cluster::define_limit() {
  if (!has_limit(plan_.nodes.front())) {
    TRY(ask_node(plan_.nodes.front(), cluster_limit_words()));
  }
  return wait_until("the limit has not reached all nodes",
                    [this] { return std::all_of(plan_.nodes.begin(), plan_.nodes.end(), has_limit); });
}

Result<void> Cluster::wait_until(const std::string& what, const std::function<bool()>& is_so) {
  const std::uint64_t end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(kStartPatience.ns());
  while (!is_so()) {
    for (Child& child : children_) {
      if (child.is_running()) continue;
      return base::unavailable(child.name() + " " + child.ending() + " at its start:" + child.last_lines());
    }
    if (signals_.is_asked_to_end_within(kAskAgainAfter)) {
      return base::unavailable("stopped before the cluster was ready");
    }
    if (base::monotonic_ns() > end_ns) {
      return base::unavailable(what + " after " + cli::duration_text(kStartPatience.ms()));
    }
  }
  return {};
}

bool Cluster::watch() {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  do {
    tell_endings();
    const auto all = nodes();
    if (std::none_of(all.begin(), all.end(), [](Child& node) { return node.is_running(); })) return false;
    show_status(is_terminal);
  } while (!signals_.is_asked_to_end_within(kStatusEvery));
  clear_status();
  return true;
}

void Cluster::tell_endings() {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (is_told_[i] || children_[i].is_running()) continue;
    clear_status();
    console_.error << "mete: " << children_[i].name() << " " << children_[i].ending()
                   << "; its last lines:" << children_[i].last_lines() << '\n'
                   << std::flush;
    is_told_[i] = true;
  }
}

void Cluster::show_status(bool is_terminal) {
  if (!is_terminal) return;
  std::string line;
  for (std::size_t i = 0; i < plan_.nodes.size(); ++i) line += (i == 0 ? "" : "  |  ") + status_of(i);
  console_.out << kClearLine << cli::cut(line, cli::Terminal::size().columns - 1) << std::flush;
  is_status_shown_ = true;
}

void Cluster::clear_status() {
  if (is_status_shown_) console_.out << kClearLine << std::flush;
  is_status_shown_ = false;
}

// "node-1: ok, 2 of 2 linked, holds 9"
std::string Cluster::status_of(std::size_t node) {
  const PlannedNode& planned = plan_.nodes[node];
  const std::string name = planned.process.name + ": ";
  if (!nodes()[node].is_running()) return name + "ended";
  const auto info = ask_node(planned, {"INFO", "cluster"});
  const auto known = ask_node(planned, {"CLUSTER", "NODES"});
  if (!info || !known) return name + "no answer";
  cli::ClusterReading reading = cli::parse_info(info->text).cluster;
  reading.peers = cli::parse_peers(*known).value_or(std::vector<cli::PeerReading>());
  return name + reading.state + ", " + counted_peers(reading) + ", holds " + cli::number_text(reading.held);
}

std::span<Child> Cluster::nodes() { return std::span(children_).subspan(plan_.shared ? 1 : 0); }

void Cluster::stop() {
  signals_.forget();
  if (children_.empty()) return;
  stop(nodes());
  stop(children_);
}

void Cluster::stop(std::span<Child> children) {
  const std::uint64_t end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(kStopPatience.ns());
  for (Child& child : children) {
    child.signal(SIGTERM);
    child.signal(SIGCONT);  // Somebody may have paused it, to see what the others do.
  }
  const auto is_any_running = [&] {
    return std::any_of(children.begin(), children.end(), [](Child& child) { return child.is_running(); });
  };
  while (is_any_running()) {
    if (!signals_.is_asked_to_end_within(kAskAgainAfter) && base::monotonic_ns() < end_ns) continue;
    for (Child& child : children) child.signal(SIGKILL);
  }
}

}  // namespace mete::lab
