// Transport: how a connection's bytes travel: over the bare socket, or through TLS on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace mete::net {

enum class Transfer : std::uint8_t {
  kDone,        // `bytes` of it
  kWouldBlock,  // wait for the socket
  kClosed,      // the peer has ended its side, or the connection is broken
};

struct Transferred {
  Transfer outcome = Transfer::kDone;
  std::size_t bytes = 0;
};

// The seam for what is not a bare socket.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual Transferred read(char* to, std::size_t bytes_max) = 0;
  virtual Transferred write(std::string_view bytes) = 0;
  // Whether both sides have agreed how to talk, and who they are where they ask that.
  [[nodiscard]] virtual bool is_established() const = 0;
  // Whether the next step, even of a read, needs the socket to be writable.
  [[nodiscard]] virtual bool wants_write() const = 0;
  // Whether bytes have arrived that the socket will not announce again.
  [[nodiscard]] virtual bool has_buffered_input() const = 0;
  // Says goodbye, if the protocol has a way to.
  virtual void shut_down() = 0;
};

}  // namespace mete::net
