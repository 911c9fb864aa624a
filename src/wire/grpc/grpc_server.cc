#include "wire/grpc/grpc_server.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "wire/uri.h"

namespace mete::wire {

namespace {

constexpr std::size_t kPrefixBytes = 5;
constexpr std::size_t kContinuationsMax = 8;      // frames that go on with a call's headers
constexpr std::size_t kHeaderOverheadBytes = 32;  // of each, as HTTP/2 counts them
// So far a client may send without waiting, on all calls and on one: one whose answers take long stops no other.
constexpr std::uint32_t kWindowBytes = 1U << 20;
constexpr std::uint32_t kStreamWindowBytes = 256U << 10;
constexpr std::size_t kSentBytesKept = std::size_t{64} << 10;  // of answers, in front of those that have not been sent
// By which a client tells that it has read the notice.
constexpr std::array<std::uint8_t, 8> kNoticePing = {'t', 'h', 'e', ' ', 'e', 'n', 'd', '.'};

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT: nghttp2 copies it
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// "application/grpc", and with "+proto" and parameters behind it.
bool is_grpc(std::string_view type) {
  constexpr std::string_view kType = "application/grpc";
  if (!type.starts_with(kType)) return false;
  type.remove_prefix(kType.size());
  if (type.starts_with("+proto")) type.remove_prefix(6);
  return type.empty() || type.front() == ';';
}

// "20m": at most eight digits, and a unit of hours, minutes, seconds and what is smaller. None if it is not so.
std::optional<Duration> read_timeout(std::string_view text) {
  constexpr std::size_t kDigitsMax = 8;
  struct Unit {
    char letter;
    std::int64_t ns;
  };
  constexpr std::array kUnits = {Unit{'H', 3'600'000'000'000}, Unit{'M', 60'000'000'000}, Unit{'S', 1'000'000'000},
                                 Unit{'m', 1'000'000},         Unit{'u', 1'000},          Unit{'n', 1}};
  if (text.size() < 2 || text.size() > kDigitsMax + 1) return std::nullopt;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec != std::errc() || read.ptr != end || count < 0) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (unit.letter != text.back()) continue;
    constexpr std::int64_t kLong = std::int64_t{365} * 24 * 3'600'000'000'000;
    return count > kLong / unit.ns ? Duration::never() : Duration::from_ns(count * unit.ns);
  }
  return std::nullopt;
}

// As gRPC writes messages into a header: percent-encoded, but for what is printable.
std::string status_words(std::string_view words) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text;
  for (const char byte : words) {
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      text += byte;
    } else {
      text += '%';
      text += kHex[static_cast<std::uint8_t>(byte) >> 4U];
      text += kHex[static_cast<std::uint8_t>(byte) & 0xFU];
    }
  }
  return text;
}

}  // namespace

struct GrpcServer::Stream {
  std::int32_t id = 0;
  GrpcCall call = {};
  bool is_post = false;
  bool has_grpc_type = false;
  bool is_timeout_wrong = false;
  std::size_t header_bytes = 0;
  std::string input = {};              // of a message that has not come whole
  std::size_t messages_waiting = 0;    // for their answers
  std::size_t waiting_bytes = 0;       // of these
  std::size_t bytes_to_give_back = 0;  // once they are answered
  std::string output = {};             // messages, each with its prefix
  std::size_t sent = 0;                // of the output
  GrpcStatus status = GrpcStatus::kOk;
  std::string words = {};
  bool is_told = false;        // its events are of interest to somebody
  bool has_responded = false;  // its headers have been submitted
  bool is_waiting = false;     // nghttp2 waits for more output
  bool is_finished = false;

  [[nodiscard]] std::size_t unsent() const { return output.size() - sent; }
};

// What nghttp2 calls, with the server as `user`.
struct GrpcServer::Callbacks {
  static GrpcServer& server(void* user) { return *static_cast<GrpcServer*>(user); }

  static int on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    auto stream = std::make_unique<Stream>();
    stream->id = frame->hd.stream_id;
    server(user).streams_[frame->hd.stream_id] = std::move(stream);
    return 0;
  }

  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t /*flags*/,
                       void* user) {
    Stream* const stream = server(user).find(frame->hd.stream_id);
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    stream->header_bytes += name_size + value_size + kHeaderOverheadBytes;
    if (stream->header_bytes > kHeaderBytesMax) return 0;
    const std::string_view key = text_of(name, name_size);
    const std::string_view text = text_of(value, value_size);
    // No path and no password is longer than what is kept: a client cannot make the server keep its headers.
    const std::string_view kept = text.substr(0, kHeaderBytesKept);
    if (key == ":method") stream->is_post = text == "POST";
    if (key == ":path") stream->call.path = kept;
    if (key == "content-type") stream->has_grpc_type = is_grpc(text);
    if (key == "authorization") stream->call.authorization = kept;
    if (key == "grpc-timeout") {
      const auto timeout = read_timeout(text);
      stream->is_timeout_wrong = !timeout;
      stream->call.timeout = timeout.value_or(Duration::never());
    }
    return 0;
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    const bool is_pong = frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (is_pong && std::equal(kNoticePing.begin(), kNoticePing.end(), frame->ping.opaque_data)) server(user).go_away();
    Stream* const stream = server(user).find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const bool is_request = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    if (is_request) server(user).begin_call(*stream);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) server(user).end_input(*stream);
    return 0;
  }

  static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id, const std::uint8_t* bytes,
                     std::size_t size, void* user) {
    Stream* const stream = server(user).find(id);
    if (stream == nullptr) {
      server(user).give_back(id, size);
    } else {
      server(user).add_input(*stream, text_of(bytes, size));
    }
    return 0;
  }

  // A client that goes on asking after its answer is told that nobody listens.
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* /*user*/) {
    const bool is_end = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!is_end || nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) != 0) return 0;
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
  }

  static int on_close(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t /*reason*/, void* user) {
    server(user).forget(id);
    return 0;
  }

  static ssize_t read(nghttp2_session* session, std::int32_t /*stream*/, std::uint8_t* room, std::size_t size,
                      std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t count = std::min(size, stream.output.size() - stream.sent);
    std::memcpy(room, stream.output.data() + stream.sent, count);
    stream.sent += count;
    server(user).output_bytes_ -= count;
    if (stream.unsent() > 0) {
      if (stream.sent > std::max(kSentBytesKept, stream.unsent()))
        stream.output.erase(0, std::exchange(stream.sent, 0));
      return static_cast<ssize_t>(count);
    }
    stream.output.clear();
    if (stream.output.capacity() > kSentBytesKept) stream.output = {};
    stream.sent = 0;
    if (!stream.is_finished) {
      stream.is_waiting = count == 0;
      return count == 0 ? static_cast<ssize_t>(NGHTTP2_ERR_DEFERRED) : static_cast<ssize_t>(count);
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const std::string number = std::to_string(static_cast<unsigned>(stream.status));
    const std::string words = status_words(stream.words);
    const std::array trailers = {header("grpc-status", number), header("grpc-message", words)};
    const int failed = nghttp2_submit_trailer(session, stream.id, trailers.data(), stream.words.empty() ? 1 : 2);
    return failed == 0 ? static_cast<ssize_t>(count) : static_cast<ssize_t>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
  }
};

GrpcServer::GrpcServer(const GrpcBounds& bounds) : bounds_(bounds) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, kResetsAtOnce, kResetsPerSecond);
  nghttp2_option_set_max_continuations(option, kContinuationsMax);
  nghttp2_session* session = nullptr;
  CHECK(nghttp2_session_server_new2(&session, callbacks, this, option) == 0);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  session_.reset(session);
  const std::array settings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, bounds_.streams},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindowBytes},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(kHeaderBytesMax)}};
  CHECK(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
  CHECK(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindowBytes) == 0);
}

GrpcServer::~GrpcServer() = default;

void GrpcServer::set_bounds(const GrpcBounds& bounds) {
  bounds_ = bounds;
  const nghttp2_settings_entry streams{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, bounds.streams};
  CHECK(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, &streams, 1) == 0);
}

bool GrpcServer::receive(std::string_view bytes) {
  const ssize_t taken =
      nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return taken >= 0 && static_cast<std::size_t>(taken) == bytes.size();
}

const GrpcCall* GrpcServer::call(std::int32_t stream) const {
  const Stream* const found = find(stream);
  return found == nullptr ? nullptr : &found->call;
}

GrpcServer::Stream* GrpcServer::find(std::int32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void GrpcServer::begin_call(Stream& stream) {
  if (stream.header_bytes > kHeaderBytesMax) {
    return refuse(stream, GrpcStatus::kResourceExhausted, "the headers are longer than 16 KiB");
  }
  if (!stream.is_post) return refuse_http(stream, "405");
  if (!stream.has_grpc_type) return refuse_http(stream, "415");
  if (stream.is_timeout_wrong) {
    return refuse(stream, GrpcStatus::kInternal, "grpc-timeout is not as gRPC writes it: 20m");
  }
  stream.is_told = true;
  events_.push_back({GrpcEvent::Kind::kCall, stream.id});
}

void GrpcServer::add_input(Stream& stream, std::string_view bytes) {
  if (!stream.is_told || stream.is_finished) return give_back(stream.id, bytes.size());
  // A message may be longer than the window: what comes while none waits is given back at once.
  if (stream.messages_waiting > 0) {
    stream.bytes_to_give_back += bytes.size();
  } else {
    give_back(stream.id, bytes.size());
  }
  if (input_bytes_ + bytes.size() > bounds_.input) {
    return refuse(stream, GrpcStatus::kResourceExhausted, "too much of messages that have not come whole, or wait");
  }
  stream.input += bytes;
  input_bytes_ += bytes.size();
  while (stream.input.size() >= kPrefixBytes) {
    if (stream.input[0] != '\0') {
      return refuse(stream, GrpcStatus::kUnimplemented, "compressed messages are not understood here");
    }
    std::size_t size = 0;
    for (std::size_t i = 1; i < kPrefixBytes; ++i) size = size << 8U | static_cast<std::uint8_t>(stream.input[i]);
    if (size > kMessageBytesMax) {
      return refuse(stream, GrpcStatus::kResourceExhausted, "the message is longer than 4 MiB");
    }
    if (stream.input.size() < kPrefixBytes + size) return;
    events_.push_back({GrpcEvent::Kind::kMessage, stream.id, stream.input.substr(kPrefixBytes, size)});
    stream.input.erase(0, kPrefixBytes + size);
    ++stream.messages_waiting;
    stream.waiting_bytes += kPrefixBytes + size;
  }
}

void GrpcServer::answered(std::int32_t id, std::size_t message_bytes) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->messages_waiting == 0) return;
  stream->waiting_bytes -= kPrefixBytes + message_bytes;
  input_bytes_ -= kPrefixBytes + message_bytes;
  if (--stream->messages_waiting == 0) give_back(id, std::exchange(stream->bytes_to_give_back, 0));
}

void GrpcServer::forget_password(std::int32_t id) {
  if (Stream* const stream = find(id)) stream->call.authorization = {};
}

void GrpcServer::give_back(std::int32_t id, std::size_t bytes) {
  if (bytes > 0) nghttp2_session_consume(session_.get(), id, bytes);
}

void GrpcServer::drop_input(Stream& stream) {
  input_bytes_ -= stream.input.size() + stream.waiting_bytes;
  stream.input = {};
  stream.messages_waiting = 0;
  stream.waiting_bytes = 0;
  give_back(stream.id, std::exchange(stream.bytes_to_give_back, 0));
}

bool GrpcServer::has_room(std::int32_t id) const {
  const Stream* const stream = find(id);
  return stream == nullptr || (stream->unsent() < bounds_.stream_output && output_bytes_ < bounds_.output);
}

void GrpcServer::end_input(Stream& stream) {
  if (!stream.is_told || stream.is_finished) return;
  if (!stream.input.empty()) return refuse(stream, GrpcStatus::kInternal, "the last message is not whole");
  events_.push_back({GrpcEvent::Kind::kEnd, stream.id});
}

// What was told of it stays told: however the bytes were cut, the events are the same.
void GrpcServer::refuse(Stream& stream, GrpcStatus status, std::string_view words) {
  if (stream.is_told) events_.push_back({GrpcEvent::Kind::kGone, stream.id});
  finish(stream.id, status, words);
}

void GrpcServer::refuse_http(Stream& stream, std::string_view status) {
  stream.is_finished = true;
  stream.has_responded = true;
  const nghttp2_nv line = header(":status", status);
  nghttp2_submit_response(session_.get(), stream.id, &line, 1, nullptr);
}

void GrpcServer::send(std::int32_t id, std::string_view message) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->is_finished) return;
  stream->output.push_back('\0');
  for (unsigned shift = 32; shift > 0;) {
    shift -= 8;
    stream->output.push_back(static_cast<char>(message.size() >> shift & 0xFFU));
  }
  stream->output += message;
  output_bytes_ += kPrefixBytes + message.size();
  respond(*stream);
}

void GrpcServer::finish(std::int32_t id, GrpcStatus status, std::string_view words) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->is_finished) return;
  drop_input(*stream);
  stream->is_finished = true;
  stream->status = status;
  stream->words = words;
  if (stream->has_responded) return respond(*stream);
  // Without a message before it, the status is all of the answer.
  stream->has_responded = true;
  const std::string number = std::to_string(static_cast<unsigned>(status));
  const std::string encoded = status_words(words);
  const std::array headers = {header(":status", "200"), header("content-type", "application/grpc"),
                              header("grpc-status", number), header("grpc-message", encoded)};
  nghttp2_submit_response(session_.get(), id, headers.data(), words.empty() ? 3 : 4, nullptr);
}

// Begins the answer, or goes on with it.
void GrpcServer::respond(Stream& stream) {
  if (stream.has_responded) {
    if (std::exchange(stream.is_waiting, false)) nghttp2_session_resume_data(session_.get(), stream.id);
    return;
  }
  stream.has_responded = true;
  const std::array headers = {header(":status", "200"), header("content-type", "application/grpc")};
  nghttp2_data_provider body = {};
  body.source.ptr = &stream;
  body.read_callback = Callbacks::read;
  nghttp2_submit_response(session_.get(), stream.id, headers.data(), headers.size(), &body);
}

void GrpcServer::forget(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = *found->second;
  if (stream.is_told && !stream.is_finished) events_.push_back({GrpcEvent::Kind::kGone, id});
  drop_input(stream);
  output_bytes_ -= stream.unsent();
  streams_.erase(found);
}

void GrpcServer::give_notice() {
  nghttp2_submit_shutdown_notice(session_.get());
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kNoticePing.data());
}

void GrpcServer::go_away() {
  if (std::exchange(has_gone_away_, true)) return;
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(session_.get());
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
}

bool GrpcServer::write(base::Output& output, std::size_t output_max) {
  while (output.size() < output_max) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size <= 0) return false;
    output.append(text_of(bytes, static_cast<std::size_t>(size)));
  }
  return nghttp2_session_want_write(session_.get()) != 0;
}

bool GrpcServer::is_over() const {
  return nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0;
}

}  // namespace mete::wire
