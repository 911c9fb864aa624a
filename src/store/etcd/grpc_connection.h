// GrpcConnection: one HTTP/2 connection to a server of gRPC, for one call at a time: a message out, a message in.
//
//     auto connection = GrpcConnection::open(address, nullptr, deadline);
//     auto reply = (*connection)->call({.path = "/etcdserverpb.KV/Txn", .message = bytes}, deadline);
//
// nghttp2 makes and reads the frames; this moves their bytes. A refusal of the server is a reply, with its status. An
// Error means that there is no reply, and that the connection is of no further use. Thread safety: none.
#pragma once

#include <mete/result.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/client_socket.h"

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

class GrpcConnection {
 public:
  static constexpr std::size_t kReplyBytesMax = std::size_t{64} << 20;

  static Result<std::unique_ptr<GrpcConnection>> open(const net::Address& address, const net::TlsClient* tls,
                                                      const net::Deadline& deadline);

  Result<GrpcReply> call(const GrpcRequest& request, const net::Deadline& deadline);

  // It stands, and takes another call. Does not wait.
  [[nodiscard]] bool is_usable();

 private:
  struct SessionDeleter {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  struct Exchange;

  GrpcConnection(net::ClientSocket socket, const net::Address& address, bool has_tls);
  Result<void> begin();
  Result<void> send(const net::Deadline& deadline);
  Result<void> receive(const net::Deadline& deadline);
  Result<std::int32_t> submit(const GrpcRequest& request, const net::Deadline& deadline, Exchange& exchange);

  net::ClientSocket socket_;
  std::string authority_;
  std::string_view scheme_;
  std::unique_ptr<nghttp2_session, SessionDeleter> session_;
};

}  // namespace mete::store::etcd
