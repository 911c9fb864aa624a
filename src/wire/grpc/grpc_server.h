// GrpcServer: a client's connection in HTTP/2, each stream of which is a call of gRPC: bytes in, events out; answers
// in, bytes out. No I/O. nghttp2 makes and reads the frames.
//
//     server.receive(bytes);
//     for (GrpcEvent& event : server.take_events()) …        a call began, a message came, …
//     if (server.has_room(stream)) …                         else its messages wait: the client takes too few answers
//     server.send(stream, message);                          any number of them
//     server.answered(stream, message.size());               of a message that came: the client may send as much again
//     server.finish(stream, GrpcStatus::kOk);                once
//     server.write(output, output_max);
//
// A call is a request to POST /package.Service/Method of the type application/grpc. Its messages have a prefix of five
// bytes: u8 is_compressed · u32 length, big endian. Whatever else comes is refused here, and is no event: other types
// and methods of HTTP, compressed messages (UNIMPLEMENTED), messages, headers and calls beyond the bounds below
// (RESOURCE_EXHAUSTED). A client that breaks off calls faster than anybody needs to is sent away.
//
// While a message of a call waits for its answer, what the call sends behind it is not given back to the client's
// window. So a client that is faster than its answers is slowed down by HTTP/2 itself, and what is kept stays small.
//
// Ownership: owns the session. Thread safety: none.
#pragma once

#include <mete/time.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/output.h"

namespace mete::wire {

enum class GrpcStatus : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// What a call begins with.
struct GrpcCall {
  std::string path = {};  // "/mete.v1.Mete/Take"
  std::string authorization = {};
  Duration timeout = Duration::never();  // how long the client waits for the answer
};

struct GrpcEvent {
  enum class Kind : std::uint8_t {
    kCall,     // call() has what it began with
    kMessage,  // one message
    kEnd,      // the client has said all
    kGone,     // nobody waits for the answer any more, and nothing may be sent
  };
  Kind kind = Kind::kCall;
  std::int32_t stream = 0;
  std::string message = {};
};

// What is kept for a client, at most.
struct GrpcBounds {
  std::uint32_t streams;      // calls at a time
  std::size_t input;          // bytes of messages that have not come whole, or wait
  std::size_t stream_output;  // bytes of answers that the client does not take, of a call; then its messages wait
  std::size_t output;         // of all calls
};

class GrpcServer {
 public:
  static constexpr std::size_t kMessageBytesMax = std::size_t{4} << 20;  // of one message
  static constexpr std::size_t kHeaderBytesMax = std::size_t{16} << 10;  // of a call
  static constexpr std::size_t kHeaderBytesKept = std::size_t{1} << 10;  // of one of them
  static constexpr std::size_t kCallBytes = std::size_t{1} << 10;        // what a call costs beside its messages
  static constexpr std::uint64_t kResetsAtOnce = 1'000;                  // calls that a client may break off
  static constexpr std::uint64_t kResetsPerSecond = 100;
  static constexpr GrpcBounds kClientBounds = {1'024, std::size_t{16} << 20, std::size_t{256} << 10,
                                               std::size_t{4} << 20};
  // Who has not shown who it is may ask how the server does, and what there is.
  static constexpr GrpcBounds kStrangerBounds = {8, std::size_t{8} << 10, std::size_t{8} << 10, std::size_t{8} << 10};

  explicit GrpcServer(const GrpcBounds& bounds = kClientBounds);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  // Others from now on; the client is told how many calls it may have.
  void set_bounds(const GrpcBounds& bounds);

  // False: the bytes are no HTTP/2, or a client breaks its rules: write() what is left to say, and close.
  bool receive(std::string_view bytes);
  [[nodiscard]] std::vector<GrpcEvent> take_events() { return std::exchange(events_, {}); }

  // Null where the client has broken it off meanwhile.
  [[nodiscard]] const GrpcCall* call(std::int32_t stream) const;

  // Of a stream, by its id. All do nothing where it has gone.
  void send(std::int32_t id, std::string_view message);
  void answered(std::int32_t id, std::size_t message_bytes);
  void forget_password(std::int32_t id);
  void finish(std::int32_t id, GrpcStatus status, std::string_view words = {});
  // Whether there is room for another answer.
  [[nodiscard]] bool has_room(std::int32_t id) const;

  // The client is asked to open no more calls. Those that are on their way are still taken, until it has read that.
  void give_notice();
  // No call is taken any more that comes from now on: those under way are still answered.
  void go_away();
  [[nodiscard]] bool has_gone_away() const { return has_gone_away_; }
  // Appends what is to be sent, up to about `output_max` bytes in the output; true: there is more.
  bool write(base::Output& output, std::size_t output_max);
  [[nodiscard]] bool has_something_to_write() const { return nghttp2_session_want_write(session_.get()) != 0; }
  // Both sides have said all.
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] std::size_t calls_under_way() const { return streams_.size(); }
  // Answers that have not left.
  [[nodiscard]] std::size_t unsent_bytes() const { return output_bytes_; }
  // What is kept of the client's calls and messages, and of answers that it has not taken.
  [[nodiscard]] std::size_t buffered_bytes() const {
    return input_bytes_ + output_bytes_ + streams_.size() * kCallBytes;
  }

 private:
  struct Stream;
  struct Callbacks;
  struct SessionDeleter {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  [[nodiscard]] Stream* find(std::int32_t id) const;
  void begin_call(Stream& stream);
  void add_input(Stream& stream, std::string_view bytes);
  // The client may send as much again.
  void give_back(std::int32_t id, std::size_t bytes);
  void drop_input(Stream& stream);
  void end_input(Stream& stream);
  void refuse(Stream& stream, GrpcStatus status, std::string_view words);
  void refuse_http(Stream& stream, std::string_view status);
  void respond(Stream& stream);
  void forget(std::int32_t id);

  std::unique_ptr<nghttp2_session, SessionDeleter> session_;
  std::unordered_map<std::int32_t, std::unique_ptr<Stream>> streams_;
  std::vector<GrpcEvent> events_;
  GrpcBounds bounds_;
  std::size_t input_bytes_ = 0;
  std::size_t output_bytes_ = 0;
  bool has_gone_away_ = false;
};

}  // namespace mete::wire
