#include "store/etcd/grpc_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/errors.h"
#include "base/monotonic.h"
#include "base/time_text.h"
#include "base/try.h"
#include "wire/uri.h"

namespace mete::store::etcd {

namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr std::int32_t kWindowBytes = 16 << 20;  // a long answer comes without waiting for us to ask for more
constexpr std::size_t kPrefixBytes = 5;          // a message of gRPC: u8 is_compressed · u32 length, big endian

Error lost(std::string reason) { return base::unavailable(std::move(reason)); }

std::string framed(std::string_view message) {
  std::string text(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(message.size() >> shift & 0xffU));
  text += message;
  return text;
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT: nghttp2 copies it
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct GrpcTurn {
  std::string output = {};  // the framed message
  std::size_t sent = 0;
  std::string input = {};
  std::string http_status = {};
  std::string grpc_status = {};
  std::string grpc_message = {};
  bool is_closed = false;
  bool is_too_long = false;
  std::uint32_t close_reason = NGHTTP2_NO_ERROR;
  net::Signal changed = {};

  // What the server said, once the stream is closed.
  [[nodiscard]] Result<GrpcReply> reply() const;
};

// What nghttp2 calls, with the connection as `user`.
struct GrpcConnection::Callbacks {
  // Null: the stream is of no call, or of none any more.
  static GrpcTurn* turn_of(nghttp2_session* session, std::int32_t stream) {
    return static_cast<GrpcTurn*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t read(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint8_t* room, std::size_t size,
                      std::uint32_t* flags, nghttp2_data_source* source, void* /*user*/) {
    auto& turn = *static_cast<GrpcTurn*>(source->ptr);
    const std::size_t count = std::min(size, turn.output.size() - turn.sent);
    std::memcpy(room, turn.output.data() + turn.sent, count);
    turn.sent += count;
    if (turn.sent == turn.output.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t /*flags*/,
                       void* /*user*/) {
    GrpcTurn* const turn = turn_of(session, frame->hd.stream_id);
    if (turn == nullptr) return 0;
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") turn->http_status = text;
    if (key == "grpc-status") turn->grpc_status = text;
    if (key == "grpc-message") turn->grpc_message = text;
    return 0;
  }

  static int on_data(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* /*user*/) {
    GrpcTurn* const turn = turn_of(session, stream);
    if (turn == nullptr || turn->is_too_long) return 0;
    turn->is_too_long = turn->input.size() + size > kReplyBytesMax;
    if (turn->is_too_long) return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
    turn->input.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
      static_cast<GrpcConnection*>(user)->is_greeted_ = true;
    }
    return 0;
  }

  static int on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t reason, void* user) {
    GrpcTurn* const turn = turn_of(session, stream);
    if (turn == nullptr) return 0;
    turn->is_closed = true;
    turn->close_reason = reason;
    turn->changed.notify_all();
    std::erase_if(static_cast<GrpcConnection*>(user)->turns_, [turn](const auto& each) { return each.get() == turn; });
    return 0;
  }
};

Result<GrpcReply> GrpcTurn::reply() const {
  if (is_too_long) return lost("the server's answer is longer than 64 MiB");
  GrpcReply made;
  std::uint32_t number = 0;
  const char* const end = grpc_status.data() + grpc_status.size();
  const auto read = std::from_chars(grpc_status.data(), end, number);
  if (grpc_status.empty() || read.ec != std::errc() || read.ptr != end) {
    if (close_reason != NGHTTP2_NO_ERROR) return lost("the server broke off the call");
    return lost("the server speaks no gRPC: it answered with the HTTP status " +
                (http_status.empty() ? "none" : http_status));
  }
  made.status = static_cast<GrpcStatus>(number);
  if (made.status != GrpcStatus::kOk) {
    made.words = wire::percent_decode(grpc_message, wire::Plus::kIsPlus).value_or(grpc_message);
    return made;
  }
  if (input.size() < kPrefixBytes || input[0] != '\0') return lost("the server's answer is no message of gRPC");
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefixBytes; ++i) size = size << 8 | static_cast<std::uint8_t>(input[i]);
  if (size != input.size() - kPrefixBytes) return lost("the server's answer is no message of gRPC");
  made.message = input.substr(kPrefixBytes);
  return made;
}

GrpcConnection::GrpcConnection(net::ClientSocket socket, const net::Address& address, bool has_tls)
    : socket_(std::move(socket)), authority_(address.to_string()), scheme_(has_tls ? "https" : "http") {}

Result<std::shared_ptr<GrpcConnection>> GrpcConnection::open(const net::Address& address, const net::TlsClient* tls,
                                                             const net::Deadline& deadline) {
  auto socket = TRY(net::ClientSocket::open(address, tls, deadline, "etcd"));
  std::shared_ptr<GrpcConnection> connection(new GrpcConnection(std::move(socket), address, tls != nullptr));
  TRY(connection->begin());
  TRY(connection->measure_distance(deadline));
  return connection;
}

Result<void> GrpcConnection::begin() {
  nghttp2_session_callbacks* callbacks = nullptr;
  CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session* session = nullptr;
  const int made = nghttp2_session_client_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (made != 0) return lost(nghttp2_strerror(made));
  session_.reset(session);
  const std::array settings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kWindowBytes)},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  int failed = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  if (failed == 0) failed = nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
  if (failed != 0) return lost(nghttp2_strerror(failed));
  return {};
}

Result<void> GrpcConnection::measure_distance(const net::Deadline& deadline) {
  if (const int failed = nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr); failed != 0) {
    return lost(nghttp2_strerror(failed));
  }
  const Instant begun = base::monotonic_now();
  TRY(write_added(deadline));
  while (!is_greeted_) {
    TRY(read_some(deadline));
  }
  distance_ = base::monotonic_now() - begun;
  return {};
}

Result<void> GrpcConnection::submit(const GrpcRequest& request, const net::Deadline& deadline, GrpcTurn& turn) {
  // The server gives up when nobody waits any more.
  const Duration left = deadline.left();
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::string timeout =
      left.is_never() ? "" : std::to_string(std::max<std::int64_t>(left.ns() / kNsPerMs, 1)) + "m";
  std::vector<nghttp2_nv> headers = {header(":method", "POST"),     header(":scheme", scheme_),
                                     header(":path", request.path), header(":authority", authority_),
                                     header("te", "trailers"),      header("content-type", "application/grpc"),
                                     header("user-agent", "mete")};
  if (!timeout.empty()) headers.push_back(header("grpc-timeout", timeout));
  if (!request.token.empty()) headers.push_back(header("token", request.token));
  turn.output = framed(request.message);
  nghttp2_data_provider body = {};
  body.source.ptr = &turn;
  body.read_callback = Callbacks::read;
  const std::int32_t stream =
      nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(), &body, &turn);
  if (stream < 0) return lost(nghttp2_strerror(stream));
  return {};
}

Result<GrpcReply> GrpcConnection::call(const GrpcRequest& request, const net::Deadline& deadline) {
  const auto turn = std::make_shared<GrpcTurn>();
  TRY(submit(request, deadline, *turn));
  turns_.push_back(turn);
  write(deadline);
  TRY(await(*turn, deadline, [&] { return turn->is_closed; }));
  return turn->reply();
}

Result<void> GrpcConnection::write_added(const net::Deadline& deadline) {
  for (;;) {
    std::string output;
    for (;;) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
      if (size < 0) return lost(nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      output.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    if (output.empty()) return {};
    TRY(socket_.write(output, deadline));
  }
}

Result<void> GrpcConnection::receive(const net::Deadline& deadline) {
  if (nghttp2_session_want_read(session_.get()) == 0) return lost("the server ends the connection");
  std::array<char, kReadBytes> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  const auto size = TRY(socket_.read(room, deadline));
  const ssize_t taken =
      nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(room.data()), size);
  if (taken < 0) return lost(nghttp2_strerror(static_cast<int>(taken)));
  if (nghttp2_session_check_request_allowed(session_.get()) == 0) retire();
  return {};
}

Result<void> GrpcConnection::read_some(const net::Deadline& deadline) {
  TRY(receive(deadline));
  if (nghttp2_session_want_write(session_.get()) != 0) write(deadline);
  return {};
}

Error GrpcConnection::no_answer(const net::Deadline& deadline) {
  return lost("no answer within " + base::duration_text(deadline.timeout()));
}

// Between calls a server may ask whether we are there, which the next call answers along with its own; or say that it
// will go.
bool GrpcConnection::is_quiet() {
  const auto at_once = net::Deadline::in(Duration());
  while (turns_.empty() && !socket_.is_quiet()) {
    if (!receive(at_once)) return false;
  }
  return turns_.empty() && !is_retired();
}

}  // namespace mete::store::etcd
