// Connection: one client on an event loop. It moves bytes between the socket and the session.
//
// An idle connection has no buffers: input is read into one buffer of the loop's, and answers are made in another. Only
// what is incomplete, or what the socket does not take at once, is kept with the connection. While a client does not
// read its answers, its input is not read either; one that keeps that up is cut off.
//
// Where the set has fibers, the session works on one of them, since it may wait for another server: until it is done,
// what arrives is kept, and a connection that is closed lives on without its socket.
//
// Answers with a ticket, and all that comes after them, are withheld until the set is told that the ticket is reached.
// Meanwhile input is read and served on, as far as there is room for answers.
//
// Until the transport is established and the session knows its client, the connection is a stranger's: its buffers
// are small, nothing is read ahead of an answer that waits, and it ends after a while.
//
// Thread safety: on its loop's thread alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/output.h"
#include "net/descriptor.h"
#include "net/event_loop.h"
#include "net/session.h"
#include "net/transport.h"
#include "net/withheld.h"

namespace mete::net {

class ConnectionSet;
struct Protocol;
struct Serving;

struct ConnectionLimits {
  std::size_t input_max = std::size_t{2} << 20;     // bytes kept of a request that is not complete
  std::size_t output_max = std::size_t{16} << 20;   // bytes of answers that are kept; then its input waits
  Duration idle_max = Duration::never();            // without any byte
  Duration request_max = std::chrono::seconds(60);  // from a request's first byte to its last
  Duration stall_max = std::chrono::seconds(30);    // with answers waiting, and none taken
  // Of a stranger: bytes of a request that is not complete, bytes of answers, and time until it must be known.
  std::size_t stranger_input_max = std::size_t{8} << 10;
  std::size_t stranger_output_max = std::size_t{8} << 10;
  Duration stranger_max = std::chrono::seconds(10);
  // Whoever asks what strangers may ask gets that time again with each answer, and so long at most. The same goes for
  // one that may be silent.
  Duration stranger_life_max = std::chrono::hours(1);
};

class Connection final : public EventHandler {
 public:
  Connection(ConnectionSet& set, std::uint64_t id, Descriptor socket, const Protocol& protocol);
  ~Connection() override;

  // Before the first event. No transport: the bare socket.
  void start(std::unique_ptr<Session> session, std::unique_ptr<Transport> transport);

  void on_events(std::uint32_t events) override;
  // The answer that a blocked session has been waiting for; it goes on with the next request. False if it does not
  // wait any more.
  bool resume(std::string_view answer, Ticket ticket = 0);
  // The session has more to say: it is called again, with what there is of input, once there is room for answers.
  void wake();
  // Sends bytes outside of the order of requests and answers.
  void push(std::string_view bytes);
  void close();
  // Answers what has already arrived, then closes.
  void finish();
  // Sends what has waited for tickets up to this one, and goes on.
  void release(Ticket reached);
  // What is withheld must never be sent: a word in its place, and the end.
  void lose_withheld();
  // Called about once a second.
  void check_time(std::uint64_t now_ns);

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] bool is_stranger() const { return is_stranger_; }
  // What it keeps for its client.
  [[nodiscard]] std::size_t buffered_bytes() const;
  [[nodiscard]] const Protocol& protocol() const { return protocol_; }
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  enum class State : std::uint8_t {
    kOpen,
    kBlocked,    // the session waits for something: input is kept
    kFinishing,  // nothing more is answered; the output is sent
    kLingering,  // all is sent: the client's bytes are thrown away until it closes its side, or for a moment
    kClosed,
  };

  // Whether something came.
  bool read();
  void end_input();
  void process(std::string_view input);
  void process_kept(Ticket ticket = 0);
  void serve_on_fiber(std::unique_ptr<Serving> serving, Ticket ticket);
  void serve(Serving& borrowed);
  void after(const Session::Received& received, base::Output& answers);
  // False if the connection is closed.
  bool send_or_keep(std::string_view answers);
  void flush();
  void end_output();
  void update_interest();
  [[nodiscard]] bool has_nothing_under_way() const;
  [[nodiscard]] bool has_answers() const { return !output_.empty() || !withheld_.empty(); }
  [[nodiscard]] std::size_t input_max() const { return is_stranger_ ? limits_.stranger_input_max : limits_.input_max; }
  [[nodiscard]] std::size_t output_max() const {
    return is_stranger_ ? limits_.stranger_output_max : limits_.output_max;
  }
  [[nodiscard]] bool is_output_full() const { return output_.size() + withheld_.size() >= output_max(); }
  // Tells how much its buffers have, if that has changed.
  void count_buffers(std::size_t bytes);
  [[nodiscard]] bool is_stranger_over(std::uint64_t now_ns) const;
  // Whether the client has become known, or has not; or is not any more.
  void look_who_it_is();
  // Whether the session stopped because of its output, and there is room again.
  [[nodiscard]] bool can_go_on() const {
    return state_ == State::kOpen && serving_ == nullptr && wants_drain_ && output_.empty() && !is_output_full();
  }
  void go_on_next_round();
  void leave_set();
  Transferred receive(char* to, std::size_t bytes_max);
  Transferred send(std::string_view bytes);
  void time_out();

  ConnectionSet& set_;
  const std::uint64_t id_;
  Descriptor socket_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Transport> transport_;
  const Protocol& protocol_;
  const ConnectionLimits& limits_;  // the protocol's
  base::Output input_;              // what the session has left over
  base::Output output_;             // what the socket has not taken yet
  Withheld withheld_;               // what follows the output, and waits for its ticket
  State state_ = State::kOpen;
  bool is_stranger_ = true;
  const Serving* serving_ = nullptr;  // with which a fiber is at work for it
  bool wants_drain_ = false;          // the session stopped because the output was full
  bool is_finishing_soon_ = false;    // when all that has arrived is answered
  bool is_input_over_ = false;        // the client has ended its side
  std::uint32_t interest_ = 0;
  std::size_t counted_bytes_ = 0;    // of its buffers
  std::uint64_t active_at_ns_;       // the last byte in or out
  std::uint64_t stranger_since_ns_;  // or since its last question was answered
  std::uint64_t stranger_begun_ns_;
  std::uint64_t waiting_since_ns_ = 0;  // when the incomplete request began; 0: there is none
};

}  // namespace mete::net
