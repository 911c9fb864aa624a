#include "lab/sim/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"

namespace mete::sim {

namespace {

using escrow::Order;
using escrow::OrderAnswer;
using escrow::Share;
using escrow::Shares;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAnswerTimeout = milliseconds(300);
constexpr Duration kClientPatience = seconds(1);
constexpr Duration kStopPause = milliseconds(300);  // between the steps of a stop
constexpr std::int64_t kClockPpmMax = 500;
constexpr Duration kUptimeMax = std::chrono::hours(24 * 30);
constexpr Duration kReliveMax = seconds(2);  // how old the memory is that a node must not come back with

}  // namespace

Node::Node(const Surroundings& around, std::size_t index, std::vector<TermsPointer> terms)
    : around_(around), index_(index), terms_(std::move(terms)) {
  Random& random = around_.world.random;
  clock_offset_ns_ = random.between(Duration(seconds(1)), kUptimeMax).ns();
  clock_ppm_ = random.between(-kClockPpmMax, kClockPpmMax);
}

// A clock that counts from when the machine was started, and is not set: when nodes set theirs, nothing changes.
Instant Node::local_now() const {
  const std::int64_t elapsed_ns = (around_.world.now() - around_.scenario.start).ns();
  const std::int64_t local_ns = clock_offset_ns_ + elapsed_ns + elapsed_ns * clock_ppm_ / 1'000'000;
  return Instant::from_ns(static_cast<std::uint64_t>(local_ns));
}

store::MeterName Node::name_of(std::size_t meter) const {
  const MeterPlan& plan = around_.scenario.meters[meter];
  return {around_.scenario.limits[plan.limit].definition.name(), plan.key};
}

std::size_t Node::meter_of(const Order& order) const {
  for (std::size_t i = 0; i < around_.scenario.meters.size(); ++i) {
    const store::MeterName name = name_of(i);
    if (name.limit == order.limit && name.key == order.key) return i;
  }
  CHECK(false);
  __builtin_unreachable();
}

// --- Its life --------------------------------------------------------------------------------------------------------

std::unique_ptr<Shares> Node::make_shares() const {
  // A run is always the same, and so are its ids.
  const std::string prefix = "node" + std::to_string(index_) + "." + std::to_string(incarnation_) + ".";
  const auto last = std::make_shared<std::uint64_t>(0);
  return std::make_unique<Shares>(escrow::SharesConfig{
      .seed = around_.scenario.seed, .make_id = [prefix, last] { return prefix + std::to_string(++*last); }});
}

void Node::start() {
  if (is_up_) return;
  around_.world.note({"starts", static_cast<int>(index_)});
  is_up_ = true;
  is_taking_ = true;
  is_paused_ = false;
  if (has_bug(Planted::kShareKept) && !calls_.empty()) {
    relive();
  } else {
    ++incarnation_;
    shares_ = make_shares();
    life_ = around_.ledger.begin_life();
  }
  tick(++process_);
}

void Node::learn(std::size_t limit, const TermsPointer& terms) {
  terms_[limit] = terms;
  when_awake(process_, [this, limit, terms] {
    const std::string& name = around_.scenario.limits[limit].definition.name();
    const Instant now = local_now();
    remember([=](Shares& shares) { shares.revise(name, terms, now); });
    shares_->revise(name, terms, now);
  });
}

void Node::crash() {
  if (!is_up_) return;
  around_.world.note({"crashes", static_cast<int>(index_)});
  is_up_ = false;
  ++process_;
  waiting_.clear();
  deferred_.clear();
  given_back_.clear();
  shares_.reset();
  if (has_bug(Planted::kShareKept)) return;
  around_.ledger.end_life(life_);
}

void Node::pause(Duration length) {
  if (!is_up_ || is_paused_) return;
  around_.world.note({"pauses for ms", static_cast<int>(index_), -1, length.ms()});
  is_paused_ = true;
  around_.world.events.after(length, [this, process = process_] {
    if (process == process_) resume();
  });
}

void Node::resume() {
  if (!is_up_ || !is_paused_) return;
  around_.world.note({"goes on", static_cast<int>(index_)});
  is_paused_ = false;
  for (const Action& action : std::exchange(deferred_, {})) action();
}

void Node::when_awake(int process, Action action) {
  if (process != process_ || !is_up_) return;
  if (!is_paused_) return action();
  deferred_.emplace_back([this, process, action = std::move(action)] {
    if (process == process_) action();
  });
}

void Node::stop() {
  if (!is_taking()) return;
  around_.world.note({"stops", static_cast<int>(index_)});
  begin_stop();
  for (int step = 1; step <= 3; ++step) {
    around_.world.events.after(Duration::from_ns(kStopPause.ns() * step),
                               [this, process = process_] { when_awake(process, [this] { finish_stop(); }); });
  }
  around_.world.events.after(Duration::from_ns(kStopPause.ns() * 4), [this, process = process_] {
    if (process == process_) crash();  // There is nothing left that it could lose.
  });
}

void Node::finish_stop() {
  waiting_.clear();
  const Instant now = local_now();
  remember([now](Shares& shares) { static_cast<void>(shares.settle_all(now)); });
  for (const Order& order : shares_->settle_all(now)) send(order);
}

// --- Its work --------------------------------------------------------------------------------------------------------

void Node::request(std::size_t meter, Amount cost) {
  if (!is_taking()) return;
  ++statistics_.requests;
  around_.oracle.asked(meter, cost);
  const Client client{.meter = meter, .cost = cost, .deadline = around_.world.now() + kClientPatience};
  when_awake(process_, [this, client] { decide(client); });
}

void Node::decide(Client client) {
  if (around_.world.now() > client.deadline) return;
  if (spend_given_back(client)) return admit(client, client.cost);
  const Instant now = local_now();
  const TermsPointer terms = terms_[around_.scenario.meters[client.meter].limit];
  const store::MeterName name = name_of(client.meter);
  remember([=](Shares& shares) {
    static_cast<void>(shares.take(name, terms, client.cost, {.has_waited = client.has_waited}, now));
  });
  const Shares::Taking taking = shares_->take(name, terms, client.cost, {.has_waited = client.has_waited}, now);
  const bool must_wait = taking.outcome == Share::Outcome::kDraw || taking.outcome == Share::Outcome::kWait;
  if (taking.outcome == Share::Outcome::kAsk) ++statistics_.waits;
  if (must_wait) {
    if (!client.has_waited) ++statistics_.waits;
    client.has_waited = true;
    waiting_.push_back(client);
  }
  const bool is_admitted = taking.outcome == Share::Outcome::kDecided && taking.verdict.is_allowed;
  if (is_admitted) admit(client, taking.verdict.taken);
  if (taking.order) send(*taking.order);
}

void Node::admit(const Client& client, Amount amount) {
  ++statistics_.admissions;
  around_.world.note({"admits", static_cast<int>(index_), static_cast<int>(client.meter), amount});
  around_.ledger.admitted(life_, client.meter, amount);
  around_.oracle.admitted(client.meter, amount);
  check(client.meter);
}

void Node::tend() {
  const Instant now = local_now();
  remember([now](Shares& shares) { static_cast<void>(shares.tend(now)); });
  for (const Order& order : shares_->tend(now)) send(order);
}

void Node::tick(int process) {
  if (process != process_ || !is_taking()) return;
  tend();
  for (std::size_t i = 0; i < around_.scenario.meters.size(); ++i) check(i);
  around_.world.events.after(around_.scenario.tick,
                             [this, process] { when_awake(process, [this, process] { tick(process); }); });
}

// --- Its orders ------------------------------------------------------------------------------------------------------

void Node::send(const Order& order) {
  const bool is_draw = order.kind == Order::Kind::kDraw;
  const std::size_t meter = meter_of(order);
  const bool is_ask = order.kind == Order::Kind::kAsk;
  around_.world.note({is_draw  ? "draws"
                      : is_ask ? "asks"
                               : "settles",
                      static_cast<int>(index_), static_cast<int>(meter), order.amount});
  // One answer counts: the first, or that there was none in time.
  const auto is_answered = std::make_shared<bool>(false);
  const auto answer_with = [this, order, is_answered, process = process_](const Result<OrderAnswer>& answer) {
    when_awake(process, [this, order, is_answered, answer] {
      if (!std::exchange(*is_answered, true)) receive(order, answer);
    });
  };
  around_.network.to_store(index_, [this, order, sent = as_sent(order), meter, answer_with, life = life_] {
    auto answer = around_.store.carry_out(sent, life, meter);
    // Decided there, and so then, whenever the client hears of it.
    const bool is_admitted = order.kind == Order::Kind::kAsk && answer && answer->verdict->is_allowed;
    if (is_admitted) around_.oracle.admitted(meter, order.amount);
    around_.network.to_node(index_, [answer_with, answer = std::move(answer)] { answer_with(answer); });
  });
  around_.world.events.after(kAnswerTimeout, [answer_with] { answer_with(base::unavailable("no answer in time")); });
}

void Node::receive(const Order& order, const Result<OrderAnswer>& arrived) {
  const Result<OrderAnswer> answer = as_told(order, arrived);
  const Instant now = local_now();
  const std::size_t meter = meter_of(order);
  around_.world.note({answer ? "has an answer" : "has no answer", static_cast<int>(index_), static_cast<int>(meter)});
  remember([=](Shares& shares) { shares.finish(order, answer, now); });
  shares_->finish(order, answer, now);
  if (order.kind == Order::Kind::kAsk) {
    if (answer && answer->verdict->is_allowed) ++statistics_.admissions;
    return;
  }
  if (answer) around_.ledger.delivered(id_there(order.id));
  check(meter);
  std::vector<Client> again;
  std::vector<Client> others;
  for (const Client& client : std::exchange(waiting_, {})) (client.meter == meter ? again : others).push_back(client);
  waiting_ = std::move(others);
  // Who waited for an order that is refused hears that, and does not ask on.
  const bool is_refused = !answer && answer.error().code != ErrorCode::kUnavailable;
  if (is_refused && order.kind == Order::Kind::kDraw) around_.ledger.abandoned(id_there(order.id));
  if (is_refused || !is_taking()) return;
  for (const Client& client : again) decide(client);
}

// --- What must be so -------------------------------------------------------------------------------------------------

Amount Node::usable(std::size_t meter) {
  if (!is_up_) return 0;
  const auto look = shares_->look(name_of(meter), local_now());
  return (look ? look->usable : 0) + given_back(meter);
}

void Node::check(std::size_t meter) {
  const Amount can_spend = usable(meter);
  const Amount may_spend = around_.ledger.spendable(life_, meter);
  if (can_spend <= may_spend) return;
  around_.world.violate("node " + std::to_string(index_) + " can spend " + std::to_string(can_spend) + " of meter " +
                        std::to_string(meter) + ", and has " + std::to_string(may_spend) + " of what it was granted");
}

// --- Planted bugs ----------------------------------------------------------------------------------------------------

void Node::remember(std::function<void(Shares&)> call) {
  if (has_bug(Planted::kShareKept)) calls_.push_back({around_.world.now(), std::move(call)});
}

// kShareKept: the memory is as it was some time before the crash, and is taken for the present.
void Node::relive() {
  const Instant until =
      around_.world.now() + Duration::from_ns(-around_.world.random.between(Duration(), kReliveMax).ns());
  std::erase_if(calls_, [&](const Call& call) { return call.at > until; });
  shares_ = make_shares();
  for (const Call& call : calls_) call.again(*shares_);
}

// kDrawWithoutId: a draw that is sent again has another id there, and so has all that is sent for it later.
std::string Node::id_there(const std::string& id) const {
  const auto found = times_drawn_.find(id);
  return found == times_drawn_.end() || found->second == 1 ? id : id + "." + std::to_string(found->second);
}

Order Node::as_sent(Order order) {
  if (has_bug(Planted::kDrawWithoutId) && order.kind == Order::Kind::kDraw) ++times_drawn_[order.id];
  order.id = id_there(order.id);
  if (has_bug(Planted::kGiveBeforeDeducted) && order.kind == Order::Kind::kSettle) {
    const std::size_t meter = meter_of(order);
    const Amount rest = around_.ledger.amount_of(order.id) - order.amount;
    given_back_.emplace(order.id, GivenBack{meter, around_.ledger.window(meter), rest});
  }
  return order;
}

// kShareWithoutWindow: the answer says that the window never ends. (A bucket has none.)
Result<OrderAnswer> Node::as_told(const Order& order, Result<OrderAnswer> answer) {
  const bool is_known = answer || answer.error().code != ErrorCode::kUnavailable;
  if (is_known && order.kind == Order::Kind::kSettle) given_back_.erase(order.id);
  const bool is_granted = answer && order.kind == Order::Kind::kDraw && answer->verdict->is_allowed;
  const Limit& limit = around_.scenario.limits[around_.scenario.meters[meter_of(order)].limit].definition;
  if (has_bug(Planted::kShareWithoutWindow) && is_granted && limit.kind() != Kind::kBucket) {
    answer->verdict->reset_after = Duration::never();
  }
  return answer;
}

// kGiveBeforeDeducted: what the shared store has not confirmed yet can still be spent, while its window lasts.
bool Node::is_spendable(const GivenBack& given, std::size_t meter) const {
  return given.meter == meter && given.window == around_.ledger.window(meter);
}

bool Node::spend_given_back(const Client& client) {
  for (auto& [id, given] : given_back_) {
    if (!is_spendable(given, client.meter) || given.rest < client.cost) continue;
    given.rest -= client.cost;
    return true;
  }
  return false;
}

Amount Node::given_back(std::size_t meter) const {
  Amount sum = 0;
  for (const auto& [id, given] : given_back_) sum += is_spendable(given, meter) ? given.rest : 0;
  return sum;
}

}  // namespace mete::sim
