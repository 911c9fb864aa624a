// Node: a simulated server: the real shares, a clock of its own, clients that wait, and orders under way. It does what
// the driver of the shares does in a server. Thread safety: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "escrow/shares.h"
#include "lab/sim/ledger.h"
#include "lab/sim/network.h"
#include "lab/sim/oracle.h"
#include "lab/sim/scenario.h"
#include "lab/sim/shared_store.h"
#include "lab/sim/world.h"

namespace mete::sim {

using TermsPointer = std::shared_ptr<const escrow::Terms>;

// What nodes use.
struct Surroundings {
  World& world;
  const Scenario& scenario;
  Ledger& ledger;
  Oracle& oracle;
  SharedStore& store;
  Network& network;
};

struct NodeStatistics {
  std::uint64_t requests = 0;
  std::uint64_t admissions = 0;
  std::uint64_t waits = 0;  // requests that an order had to be carried out for
};

class Node {
 public:
  Node(const Surroundings& around, std::size_t index, std::vector<TermsPointer> terms);

  // A client asks.
  void request(std::size_t meter, Amount cost);
  // The node hears of a changed limit.
  void learn(std::size_t limit, const TermsPointer& terms);

  // All that is in memory is gone; what was sent may still arrive.
  void crash();
  void start();
  // Nothing happens in it for that long; what arrives waits.
  void pause(Duration length);
  void resume();
  // Gives everything back, and ends when that was answered or takes too long.
  void stop();
  // The same without a fault, for the end of a run: `finish_stop` a while after `begin_stop`.
  void begin_stop() { is_taking_ = false; }
  void finish_stop();

  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] bool is_taking() const { return is_up_ && is_taking_; }
  [[nodiscard]] Amount usable(std::size_t meter);
  [[nodiscard]] const NodeStatistics& statistics() const { return statistics_; }

 private:
  struct Client {
    std::size_t meter = 0;
    Amount cost = 0;
    Instant deadline;
    bool has_waited = false;
  };
  // A call of the shares, for a life that is to be lived again up to some moment.
  struct Call {
    Instant at;
    std::function<void(escrow::Shares&)> again;
  };
  // The rest of a hold that is on its way back.
  struct GivenBack {
    std::size_t meter = 0;
    std::uint64_t window = 0;
    Amount rest = 0;
  };

  [[nodiscard]] Instant local_now() const;
  [[nodiscard]] store::MeterName name_of(std::size_t meter) const;
  [[nodiscard]] std::size_t meter_of(const escrow::Order& order) const;
  // Runs it unless the process is gone by then; when the node wakes, if it sleeps.
  void when_awake(int process, Action action);
  void decide(Client client);
  void admit(const Client& client, Amount amount);
  void send(const escrow::Order& order);
  void receive(const escrow::Order& order, const Result<escrow::OrderAnswer>& arrived);
  void tend();
  void tick(int process);
  void check(std::size_t meter);
  std::unique_ptr<escrow::Shares> make_shares() const;

  // Planted bugs. Without one nothing is changed by any of these.
  [[nodiscard]] bool has_bug(Planted bug) const { return around_.scenario.planted == bug; }
  void remember(std::function<void(escrow::Shares&)> call);
  void relive();
  // The id that an order of the shares has at the shared store; the order as it goes there; the answer as it is told to
  // the shares.
  [[nodiscard]] std::string id_there(const std::string& id) const;
  escrow::Order as_sent(escrow::Order order);
  Result<escrow::OrderAnswer> as_told(const escrow::Order& order, Result<escrow::OrderAnswer> answer);
  // What can be spent besides the shares.
  [[nodiscard]] bool is_spendable(const GivenBack& given, std::size_t meter) const;
  bool spend_given_back(const Client& client);
  [[nodiscard]] Amount given_back(std::size_t meter) const;

  Surroundings around_;
  const std::size_t index_;
  std::vector<TermsPointer> terms_;
  std::unique_ptr<escrow::Shares> shares_;
  std::uint64_t incarnation_ = 0;
  int life_ = -1;     // in the ledger
  int process_ = -1;  // what was sent by one is not answered to the next
  bool is_up_ = false;
  bool is_taking_ = false;
  bool is_paused_ = false;
  std::int64_t clock_offset_ns_ = 0;
  std::int64_t clock_ppm_ = 0;  // how much too fast
  std::vector<Client> waiting_;
  std::vector<Action> deferred_;
  std::vector<Call> calls_;                      // for kShareKept
  std::map<std::string, int> times_drawn_;       // for kDrawWithoutId, by the id of the shares
  std::map<std::string, GivenBack> given_back_;  // for kGiveBeforeDeducted, by the id
  NodeStatistics statistics_;
};

}  // namespace mete::sim
