// GrpcConnection: one HTTP/2 connection to a server of gRPC: a message out, a message in, and many such calls at a
// time.
//
//     auto connection = GrpcConnection::open(address, nullptr, deadline);
//     auto reply = (*connection)->call({.path = "/etcdserverpb.KV/Txn", .message = bytes}, deadline);
//
// nghttp2 makes and reads the frames; this moves their bytes, and store/network/line.h says who of the callers does it.
// A refusal of the server is a reply, with its status. An Error means that there is no reply. Thread safety: none: for
// fibers of one event loop, or for one plain thread.
#pragma once

#include <mete/result.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "net/client_socket.h"
#include "store/network/line.h"

namespace mete::store::etcd {

// The ones that etcd answers with, of gRPC's numbers.
enum class GrpcStatus : std::uint32_t {
  kOk = 0,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

struct GrpcRequest {
  std::string_view path;
  std::string_view message;
  std::string_view token = {};  // who is asking; empty: nobody in particular
};

struct GrpcReply {
  GrpcStatus status = GrpcStatus::kUnknown;
  std::string words = {};    // why it is not kOk
  std::string message = {};  // if it is
};

// A call that is under way.
struct GrpcTurn;

class GrpcConnection : public Line<GrpcConnection, GrpcTurn> {
 public:
  static constexpr std::size_t kReplyBytesMax = std::size_t{64} << 20;

  // Returns when the server has answered to a first frame.
  static Result<std::shared_ptr<GrpcConnection>> open(const net::Address& address, const net::TlsClient* tls,
                                                      const net::Deadline& deadline);

  Result<GrpcReply> call(const GrpcRequest& request, const net::Deadline& deadline);

  // How long that first answer took.
  [[nodiscard]] Duration distance() const { return distance_; }
  // Nobody uses it, it stands, and takes another call. Does not wait.
  [[nodiscard]] bool is_quiet();
  [[nodiscard]] const std::string& address() const { return authority_; }
  static Error unavailable(std::string reason) { return base::unavailable(std::move(reason)); }

 private:
  friend class Line<GrpcConnection, GrpcTurn>;

  struct SessionDeleter {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  struct Callbacks;

  GrpcConnection(net::ClientSocket socket, const net::Address& address, bool has_tls);
  Result<void> begin();
  Result<void> measure_distance(const net::Deadline& deadline);
  Result<void> submit(const GrpcRequest& request, const net::Deadline& deadline, GrpcTurn& turn);
  Result<void> write_added(const net::Deadline& deadline);
  Result<void> receive(const net::Deadline& deadline);
  Result<void> read_some(const net::Deadline& deadline);
  static Error no_answer(const net::Deadline& deadline);

  net::ClientSocket socket_;
  std::string authority_;
  std::string_view scheme_;
  Duration distance_;
  bool is_greeted_ = false;  // the answer to the first frame has come
  std::unique_ptr<nghttp2_session, SessionDeleter> session_;
};

}  // namespace mete::store::etcd
