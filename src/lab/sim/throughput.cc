// The cost model: how many decisions nodes make when each has as many clients as it can serve.
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "escrow/shares.h"
#include "lab/sim/measure.h"
#include "lab/sim/world.h"
#include "store/embedded/embedded_store.h"

namespace mete::sim {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kDecision = microseconds(20);  // of a node's processor
constexpr Duration kOrder = microseconds(50);     // of the shared store's
constexpr Duration kRoundTrip = milliseconds(2);
constexpr Duration kTick = milliseconds(100);
constexpr Duration kLength = seconds(5);
constexpr std::size_t kKeysPerNode = 8;
constexpr Amount kAmount = 10'000'000;

class Model {
 public:
  explicit Model(std::size_t nodes) : nodes_(nodes) {
    const Limit limit = window("limit").amount(kAmount).per(std::chrono::minutes(1));
    CHECK(store_.define(limit));
    const auto terms = escrow::terms_of(limit, 1);
    CHECK(terms);
    terms_ = std::make_shared<const escrow::Terms>(*terms);
    for (std::size_t i = 0; i < nodes; ++i) {
      shares_.push_back(std::make_unique<escrow::Shares>(escrow::SharesConfig()));
    }
  }

  Throughput run() {
    for (std::size_t i = 0; i < nodes_; ++i) {
      serve(i, 0);
      tend(i);
    }
    while (events_.step(kEpoch + kLength)) {
    }
    return {.decisions_per_second = decisions_ * 1'000'000'000 / kLength.ns(),
            .store_busy_permille = store_busy_ns_ * 1000 / kLength.ns()};
  }

 private:
  // Clients never run out: who must wait leaves the processor to the next.
  void serve(std::size_t node, std::size_t turn) {
    const std::string key = std::to_string(node) + "." + std::to_string(turn % kKeysPerNode);
    const auto taking = shares_[node]->take({"limit", key}, terms_, 1, {}, events_.now());
    if (taking.outcome == escrow::Share::Outcome::kDecided) ++decisions_;
    if (taking.order) send(node, *taking.order);
    events_.after(kDecision, [this, node, turn] { serve(node, turn + 1); });
  }

  void tend(std::size_t node) {
    for (const escrow::Order& order : shares_[node]->tend(events_.now())) send(node, order);
    events_.after(kTick, [this, node] { tend(node); });
  }

  void send(std::size_t node, const escrow::Order& order) {
    const Duration way = Duration::from_ns(kRoundTrip.ns() / 2);
    events_.after(way, [this, node, order, way] {
      store_free_at_ = std::max(store_free_at_, events_.now()) + kOrder;
      store_busy_ns_ += kOrder.ns();
      events_.at(store_free_at_, [this, node, order, way] {
        const auto answer = carry_out(order);
        events_.after(way, [this, node, order, answer] { shares_[node]->finish(order, answer, events_.now()); });
      });
    });
  }

  Result<escrow::OrderAnswer> carry_out(const escrow::Order& order) {
    if (order.kind == escrow::Order::Kind::kDraw) {
      const Charge charge{order.limit, order.key, order.amount};
      const auto verdict = TRY(store_.hold({.charges = {&charge, 1}, .ttl = order.ttl, .id = order.id}));
      return escrow::OrderAnswer{.verdict = verdict};
    }
    const auto settlement = TRY(order.amount > 0 ? store_.commit({.id = order.id, .amounts = {&order.amount, 1}})
                                                 : store_.cancel(order.id));
    return escrow::OrderAnswer{.standing = escrow::MeterStanding{settlement.remaining, settlement.limit}};
  }

  const std::size_t nodes_;
  ManualClock clock_{kEpoch};
  Events events_{clock_};
  store::EmbeddedStore store_{{.clock = &clock_}};
  std::shared_ptr<const escrow::Terms> terms_;
  std::vector<std::unique_ptr<escrow::Shares>> shares_;
  Instant store_free_at_;
  std::int64_t decisions_ = 0;
  std::int64_t store_busy_ns_ = 0;
};

}  // namespace

Throughput measure_throughput(std::size_t nodes) { return Model(nodes).run(); }

}  // namespace mete::sim
