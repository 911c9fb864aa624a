#include "faults/postgres_clients.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mete::faults {

namespace {

using namespace std::chrono_literals;
using threads::Random;

constexpr Duration kPatienceForAnswers = 60s;
// Of a hold: gone before it is used, or on a busy machine at any time.
constexpr std::array<std::chrono::milliseconds, 2> kTtls = {3ms, 2000ms};

// Asks again while the answer is that nobody knows.
template <class Ask>
auto until_answered(const Ask& ask) {
  auto answer = ask();
  while (!answer.has_value() && answer.error().code == ErrorCode::kUnavailable) answer = ask();
  return answer;
}

// As the limiter takes them; the names outlive them.
struct Charges {
  explicit Charges(const Order& order) {
    for (const Meter& meter : order.meters) {
      limits.push_back(meter.limit_name());
      keys.push_back(meter.key_name());
    }
    for (std::size_t i = 0; i < limits.size(); ++i) list.push_back({limits[i], keys[i], order.costs[i]});
  }

  std::vector<std::string> limits;
  std::vector<std::string> keys;
  std::vector<Charge> list;
};

// As mete.take() and mete.hold() take them.
std::string json_of(const Order& order) {
  std::string json;
  for (std::size_t i = 0; i < order.meters.size(); ++i) {
    json += (json.empty() ? "'[" : ", ") + std::string(R"({"limit": ")") + order.meters[i].limit_name() +
            R"(", "key": ")" + order.meters[i].key_name() + R"(", "cost": )" + std::to_string(order.costs[i]) + "}";
  }
  return json + "]'";
}

std::string array_of(const std::vector<Amount>& amounts) {
  std::string text;
  for (const Amount amount : amounts) text += (text.empty() ? "array[" : ", ") + std::to_string(amount);
  return text + "]::bigint[]";
}

bool is_one_of(const std::string& state, std::initializer_list<std::string_view> states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

}  // namespace

void Ledger::complain(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (complaint_.empty()) complaint_ = what;
}

std::string Ledger::complaint() {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

Order Order::random(Random& random, int charges_max) {
  Order order;
  const int count = 1 + random.below(charges_max);
  for (int i = 0; i < count; ++i) {
    const int key = random.one_in(2) ? 0 : random.below(kKeys);
    order.meters.push_back({.limit = random.below(static_cast<int>(kLimits.size())), .key = key});
    order.costs.push_back(random.amount(8));
  }
  return order;
}

std::vector<Amount> Order::random_amounts(Random& random, Amount beyond) const {
  std::vector<Amount> amounts;
  for (const Amount cost : costs) amounts.push_back(random.below(static_cast<int>(cost + beyond) + 1));
  return amounts;
}

void LimiterClient::step(Random& random) {
  switch (random.below(6)) {
    case 0:
      return take(Order::random(random, 3));
    case 1:
    case 2:
      return give(Order::random(random, 1));
    default:
      return use_hold(Order::random(random, 3), random);
  }
}

void LimiterClient::take(const Order& order) {
  const Charges charges(order);
  const std::string id = next_id();
  const auto taken = until_answered([&] { return limiter_.take(charges.list, {.id = id}); });
  if (!taken.has_value()) return ledger_.complain(taken.error().message);
  if (!taken->allowed()) return;
  for (std::size_t i = 0; i < order.meters.size(); ++i) ledger_.book(order.meters[i], order.costs[i]);
}

void LimiterClient::give(const Order& order) {
  const Charges charges(order);
  const std::string id = next_id();
  const auto given = until_answered([&] { return limiter_.give(charges.list, id); });
  if (!given) return ledger_.complain(given.error().message);
  ledger_.book(order.meters[0], -given->amount);
}

void LimiterClient::use_hold(const Order& order, Random& random) {
  const Charges charges(order);
  const std::string id = next_id();
  const Duration ttl = kTtls.at(static_cast<std::size_t>(random.below(2)));
  const auto held = until_answered([&] { return limiter_.hold(charges.list, ttl, {.id = id}); });
  if (!held.has_value()) return ledger_.complain(held.error().message);
  if (!held->allowed() || random.one_in(4)) return;  // a worker that dies: it expires
  if (random.one_in(3)) {
    const auto cancelled = until_answered([&] { return limiter_.cancel(id); });
    if (!cancelled && cancelled.error().code != ErrorCode::kExpired) {
      ledger_.complain(cancelled.error().message);
    }
    return;
  }
  commit(order, id, order.random_amounts(random, random.one_in(3) ? 4 : 0));
}

void LimiterClient::commit(const Order& order, const std::string& id, const std::vector<Amount>& amounts) {
  const auto committed = until_answered([&] { return limiter_.commit_with_overage(id, amounts); });
  if (committed) {
    for (std::size_t i = 0; i < order.meters.size(); ++i) ledger_.book(order.meters[i], amounts[i]);
  } else if (committed.error().code != ErrorCode::kExpired && committed.error().code != ErrorCode::kExceeds) {
    ledger_.complain(committed.error().message);
  }
}

bool SqlClient::connect() {
  auto opened = store::postgres::Connection::open(url_, net::Deadline::in(kPatienceForAnswers));
  if (opened) connection_ = std::move(*opened);
  return opened.has_value();
}

bool SqlClient::run(const std::string& sql) {
  if (!connection_ || connection_->is_lost()) return false;
  auto rows = connection_->run_text(sql, net::Deadline::in(kPatienceForAnswers));
  if (rows) {
    rows_ = std::move(*rows);
    return true;
  }
  // Expired, does not fit, and what comes of a process that was ended.
  if (!rows.error().is_lost && !is_one_of(rows.error().state, {"MT004", "MT005"})) {
    ledger_.complain(sql + ": " + rows.error().message);
  }
  if (!rows.error().is_lost) (void)connection_->run_text("rollback", net::Deadline::in(kPatienceForAnswers));
  return false;
}

void SqlClient::step(Random& random) {
  while (!connection_ || connection_->is_lost()) {
    if (!connect()) connection_.reset();
  }
  if (!run("begin")) return;
  const Order order = Order::random(random, 3);
  switch (random.below(6)) {
    case 0:
      take(order);
      return end(random);
    case 1:
    case 2:
      give(order);
      return end(random);
    default:
      break;
  }
  const std::string id = hold(order, random);
  if (id.empty() || random.one_in(3)) return end(random);
  // In the same transaction, or in the next.
  if (random.one_in(2)) {
    end(random);
    if (!run("begin")) return;
  }
  close(order, id, random);
  end(random);
}

void SqlClient::take(const Order& order) {
  if (!run("select (mete.take_all(" + json_of(order) + ")).allowed")) return;
  if (answer() != "t") return;
  for (std::size_t i = 0; i < order.meters.size(); ++i) note(order.meters[i], order.costs[i]);
}

void SqlClient::give(const Order& order) {
  const Meter& meter = order.meters[0];
  if (!run("select (mete.give('" + meter.limit_name() + "', '" + meter.key_name() + "', " +
           std::to_string(order.costs[0]) + ")).amount")) {
    return;
  }
  note(meter, -std::stoll(answer()));
}

std::string SqlClient::hold(const Order& order, Random& random) {
  const auto ttl = kTtls.at(static_cast<std::size_t>(random.below(2)));
  if (!run("select case when (h).allowed then (h).id else '' end from mete.hold_all(" + json_of(order) + ", '" +
           std::to_string(ttl.count()) + " milliseconds') h")) {
    return "";
  }
  return answer();
}

void SqlClient::close(const Order& order, const std::string& id, Random& random) {
  // Of a hold that was rolled back there is nothing: it is looked for in what is there.
  const std::string from = " from mete.holds h where h.id = '" + id + "' and h.charge = 0";
  if (random.one_in(3)) {
    (void)run("select mete.cancel(h.id)" + from);
    return;
  }
  const std::vector<Amount> amounts = order.random_amounts(random, random.one_in(3) ? 4 : 0);
  if (!run("select (mete.commit(h.id, " + array_of(amounts) + ", overage => true)).amount" + from)) return;
  if (rows_->size() == 0) return;
  for (std::size_t i = 0; i < order.meters.size(); ++i) note(order.meters[i], amounts[i]);
}

void SqlClient::note(const Meter& meter, Amount amount) {
  (void)run("insert into jobs values ('" + meter.limit_name() + "', '" + meter.key_name() + "', " +
            std::to_string(amount) + ")");
}

void SqlClient::end(Random& random) {
  if (connection_->is_lost() || connection_->is_idle()) return;
  (void)run(random.one_in(3) ? "rollback" : "commit");
}

}  // namespace mete::faults
