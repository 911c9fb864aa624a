// Clients of one PostgreSQL that use its meters at random, and keep accounts of what they were told, to the unit: also
// when their server processes are ended in the middle of it.
//
// LimiterClient asks a limiter. Each operation has an id, and is sent again until it is answered. SqlClient is an
// application with transactions of its own, some of which it rolls back: what it has used it writes into a table of its
// own (kJobsTable), in the same transaction.
//
// Thread safety: each is for one thread; Ledger for all.
#pragma once

#include <mete/mete.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/postgres/connection.h"
#include "threads/many.h"

namespace mete::faults {

inline constexpr std::array kLimits = {"credits", "storage", "yearly"};
inline constexpr int kKeys = 12;  // the first one is hot: every second charge is on it
inline constexpr Amount kCapacity = 60;
inline constexpr const char* kJobsTable = "create table jobs (\"limit\" text, key text, amount bigint)";

struct Meter {
  int limit = 0;
  int key = 0;

  [[nodiscard]] std::string limit_name() const { return kLimits.at(static_cast<std::size_t>(limit)); }
  [[nodiscard]] std::string key_name() const { return threads::key_name(key); }
};

// What limiters have used, by meter; and the first answer that nobody expects.
class Ledger {
 public:
  void book(const Meter& meter, Amount change) { entry(meter) += change; }
  [[nodiscard]] Amount used(const Meter& meter) { return entry(meter); }
  void complain(const std::string& what);
  [[nodiscard]] std::string complaint();

 private:
  std::atomic<Amount>& entry(const Meter& meter) {
    return entries_.at(static_cast<std::size_t>(meter.limit)).at(static_cast<std::size_t>(meter.key));
  }

  std::array<std::array<std::atomic<Amount>, kKeys>, kLimits.size()> entries_{};
  std::mutex mutex_;
  std::string complaint_;  // under the mutex
};

// Charges of one operation, in a random order.
struct Order {
  std::vector<Meter> meters;
  std::vector<Amount> costs;

  static Order random(threads::Random& random, int charges_max);
  // An amount for each, up to its cost and `beyond`.
  [[nodiscard]] std::vector<Amount> random_amounts(threads::Random& random, Amount beyond) const;
};

class LimiterClient {
 public:
  // `name` is a part of its ids.
  LimiterClient(Limiter& limiter, Ledger& ledger, std::string name)
      : limiter_(limiter), ledger_(ledger), name_(std::move(name)) {}

  void step(threads::Random& random);

 private:
  void take(const Order& order);
  void give(const Order& order);
  void use_hold(const Order& order, threads::Random& random);
  void commit(const Order& order, const std::string& id, const std::vector<Amount>& amounts);
  std::string next_id() { return name_ + "-" + std::to_string(++operations_); }

  Limiter& limiter_;
  Ledger& ledger_;
  std::string name_;
  int operations_ = 0;
};

class SqlClient {
 public:
  SqlClient(std::string url, Ledger& ledger) : url_(std::move(url)), ledger_(ledger) {}

  void step(threads::Random& random);

 private:
  // False: the connection is lost, or it was refused; there is nothing more to do then.
  bool run(const std::string& sql);
  bool connect();
  void take(const Order& order);
  void give(const Order& order);
  // The id; empty if there is none.
  std::string hold(const Order& order, threads::Random& random);
  void close(const Order& order, const std::string& id, threads::Random& random);
  void note(const Meter& meter, Amount amount);
  void end(threads::Random& random);
  [[nodiscard]] std::string answer() const { return std::string(rows_->text(0, 0)); }

  std::string url_;
  Ledger& ledger_;
  std::optional<store::postgres::Connection> connection_;
  std::optional<store::postgres::Rows> rows_;  // of the last statement
};

}  // namespace mete::faults
