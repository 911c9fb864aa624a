// ConnectionSet: the connections of one event loop, and the buffers that they share.
//
// Thread safety: on its loop's thread alone, but for the counters.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/buffer_budget.h"
#include "net/connection.h"
#include "net/event_loop.h"
#include "net/fiber.h"

namespace mete::net {

// What a server makes of a new connection: its session, and its transport if that is not the bare socket.
struct Protocol {
  std::function<std::unique_ptr<Session>(ConnectionSet& set, std::uint64_t connection_id, int socket)> make_session;
  std::function<std::unique_ptr<Transport>(int socket)> make_transport;  // none: the bare socket
  ConnectionLimits limits;
  // When a connection's client has become known: at its start, or later.
  std::function<void(std::uint64_t connection_id)> on_known;
  std::function<void(std::uint64_t connection_id)> on_closed;
};

// What a session works with while it is on a fiber.
struct Serving {
  base::Output input;
  base::Output answers;
  Ticket ticket = 0;  // of the answers
};

struct Traffic {
  std::atomic<std::uint64_t> bytes_in{0};
  std::atomic<std::uint64_t> bytes_out{0};
};

class ConnectionSet {
 public:
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;

  // `fibers`, of the same loop: for sessions that may wait for other servers; null: none does.
  explicit ConnectionSet(EventLoop& loop, Fibers* fibers = nullptr);
  ConnectionSet(const ConnectionSet&) = delete;
  ConnectionSet& operator=(const ConnectionSet&) = delete;
  ~ConnectionSet();

  // `protocol` must outlive the connection. The id is unique in the process.
  void add(Descriptor socket, std::uint64_t id, const Protocol& protocol);
  // Calls `act` with the connection of this id; false if it has gone.
  template <class Act>
  bool with(std::uint64_t id, Act&& act) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return false;
    std::forward<Act>(act)(*found->second);
    return true;
  }
  void remove(Connection& connection);
  // Cuts all of them off, after the loop's last round.
  void clear() { connections_.clear(); }
  // Lets every connection answer what has arrived and close; `done` is called once there are none left.
  void finish_all(EventLoop::Task done);

  // Answers of this connection wait for the ticket.
  void note_withheld(const Connection& connection, Ticket ticket);
  // The first ticket that answers wait for; 0: none do.
  [[nodiscard]] Ticket first_withheld() const { return withheld_.empty() ? 0 : withheld_.front().ticket; }
  // Sends the answers that have waited for tickets up to this one.
  void release(Ticket reached);
  // None of the tickets that answers wait for will be reached.
  void lose_withheld();

  // Before the first connection: their buffers count towards it.
  void share(BufferBudget& budget) { budget_ = &budget; }
  void note_buffers(const Connection& connection, std::size_t before, std::size_t now) {
    if (budget_ != nullptr) budget_->note(*this, connection.id(), before, now);
  }

  [[nodiscard]] EventLoop& loop() { return loop_; }
  [[nodiscard]] Fibers* fibers() { return fibers_; }
  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  void count_in(std::size_t bytes) { add_to(traffic_.bytes_in, bytes); }
  void count_out(std::size_t bytes) { add_to(traffic_.bytes_out, bytes); }

  // Shared by the connections, each in its turn.
  [[nodiscard]] char* read_buffer() { return read_buffer_.get(); }
  [[nodiscard]] base::Output& answer_buffer() { return answers_; }
  // Each for one fiber, until it is given back.
  [[nodiscard]] std::unique_ptr<Serving> borrow_serving();
  void give_back(std::unique_ptr<Serving> serving);

 private:
  struct Waiting {
    Ticket ticket;  // never less than the one before it
    std::uint64_t connection;
  };

  void check_time();
  void for_each(const std::function<void(Connection&)>& act);
  // Only this thread writes: no locked instruction is needed.
  static void add_to(std::atomic<std::uint64_t>& counter, std::size_t bytes) {
    counter.store(counter.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  EventLoop& loop_;
  Fibers* const fibers_;
  BufferBudget* budget_ = nullptr;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::unique_ptr<char[]> read_buffer_;  // NOLINT(modernize-avoid-c-arrays)
  base::Output answers_;
  std::vector<std::unique_ptr<Serving>> spare_;
  std::deque<Waiting> withheld_;  // of some, the connection has gone
  Traffic traffic_;
  EventLoop::TimerId time_check_ = 0;
  EventLoop::Task when_empty_;
};

}  // namespace mete::net
