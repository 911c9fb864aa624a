// Session: a protocol's side of one connection: bytes in, bytes out, no I/O.
//
// Thread safety: a session lives on its connection's loop, and is called only there.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/output.h"

namespace mete::net {

class Session {
 public:
  enum class Next : std::uint8_t {
    kRead,   // everything complete was answered: more input is welcome
    kDrain,  // the output is full: call again with the same input when it has been sent
    kBlock,  // an answer will come later, through Connection::resume; until then the input waits
    kClose,  // send what there is, then close
  };
  struct Received {
    std::size_t consumed = 0;
    Next next = Next::kRead;
  };

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // `input` starts with the bytes that the last call left. Answers are appended to `output`, which should not grow far
  // beyond `output_max` bytes.
  virtual Received receive(std::string_view input, base::Output& output, std::size_t output_max) = 0;
  // Whether what it is blocked for is done for the client alone: if that ends its side, it has left.
  [[nodiscard]] virtual bool waits_for_client() const { return false; }
  // The connection was silent or stuck for too long and will be closed: a last word, if the protocol has one.
  virtual void on_timeout(base::Output& /*output*/) {}
};

}  // namespace mete::net
