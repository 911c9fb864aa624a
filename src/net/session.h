// Session: a protocol's side of one connection: bytes in, bytes out, no I/O.
//
// Thread safety: a session lives on its connection's loop, and is called only there.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/output.h"

namespace mete::net {

// What an answer waits for before it may leave: that something which comes in the order of these numbers, such as the
// writing of a file, has come so far. 0: nothing.
using Ticket = std::uint64_t;

class Session {
 public:
  enum class Next : std::uint8_t {
    kRead,   // everything complete was answered: more input is welcome
    kDrain,  // the output is full, or others have their turn: call again with the same input when it has been sent
    kBlock,  // an answer will come later, through Connection::resume; until then the input waits
    kClose,  // send what there is, then close
  };
  struct Received {
    std::size_t consumed = 0;
    Next next = Next::kRead;
    Ticket ticket = 0;  // of the answers
    // Something was asked and answered that strangers may ask: whoever has done so gets its time again.
    bool is_question_answered = false;
  };

  // What the connection keeps for the client, in bytes.
  struct Buffers {
    std::size_t input = 0;
    std::size_t input_capacity = 0;
    std::size_t output = 0;
    std::size_t output_capacity = 0;
  };

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // `input` starts with the bytes that the last call left. Answers are appended to `output`, which should not grow far
  // beyond `output_max` bytes.
  virtual Received receive(std::string_view input, base::Output& output, std::size_t output_max) = 0;
  // The connection was silent or stuck for too long and will be closed: a last word, if the protocol has one.
  virtual void on_timeout(base::Output& /*output*/) {}
  // The server stops, and the connection will be closed once all that has been asked is answered.
  virtual void on_finish() {}
  // Whether there will be answers to what has been received, in later calls of receive(): Connection::wake.
  [[nodiscard]] virtual bool has_answers_to_come() const { return false; }
  // What the session itself keeps for its client, in bytes.
  [[nodiscard]] virtual std::size_t buffered_bytes() const { return 0; }
  // About once a second, for whoever wants to know.
  virtual void on_buffers(const Buffers& /*buffers*/) {}
  // A request goes on and on, and the connection will be closed: a last word, if the protocol has one.
  virtual void on_overflow(base::Output& /*output*/) {}
  // What the withheld answers wait for will never come, and the connection will be closed: a word in their place.
  virtual void on_lost(base::Output& /*output*/) {}
  // Whether the client still has to show who it is. Until then its connection gets little memory and little time.
  [[nodiscard]] virtual bool is_stranger() const { return false; }
  // Whether the client has nothing to ask for a long time, and may stay connected; of a stranger, for longer than the
  // time that it has to show who it is.
  [[nodiscard]] virtual bool may_be_silent() const { return false; }
  // The client has ended its side while the session blocks: whether it is still to get the answer.
  [[nodiscard]] virtual bool answers_half_closed() const { return true; }
};

}  // namespace mete::net
