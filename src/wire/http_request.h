// HttpRequestParser: one HTTP/1.x request, from bytes that come in pieces. No I/O.
//
//     parser.parse(buffer)  →  kNeedsMore: call again once the buffer, still starting at the same byte, has more
//                              kComplete:  request() and consumed(); drop that many bytes, then reset()
//                              kFailed:    failure(): answer its status and close, since nobody knows where the next
//                                          request starts
//
// The parser remembers how far it has looked: a request that comes byte by byte costs one pass. Its outcome does not
// depend on how the bytes were cut.
//
// Strict, because a proxy in front may read what is sloppy in another way, and let one request through as two:
//   - lines end in CR LF; no control characters, no folded lines, no space before a ':'
//   - one way to tell the length: a single Content-Length of plain digits, or Transfer-Encoding: chunked, and not both
//   - HTTP/1.1 has one Host
// Every length has a limit; what is beyond one gets the status that says so (413, 414, 431).
//
// Ownership: views in the request point into the buffer given to the parse() that completed it, or into the parser
// (a chunked body); they are valid until either changes. Thread safety: a parser belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mete::wire {

inline constexpr std::size_t kEmptyLinesMax = 4;  // before a request
inline constexpr std::size_t kMethodBytesMax = 32;
inline constexpr std::size_t kTargetBytesMax = std::size_t{8} << 10;
// Of the header section; of the trailer section as well.
inline constexpr std::size_t kHeaderBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kHeadersMax = 100;
inline constexpr std::size_t kChunkLineBytesMax = 256;  // a chunk's size with its extensions
inline constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;

struct HttpLimits {
  std::size_t header_bytes_max = kHeaderBytesMax;
  std::size_t body_bytes_max = kBodyBytesMax;
};

struct HttpHeader {
  std::string_view name;
  std::string_view value;  // without the white space around it
};

struct HttpRequest {
  std::string_view method;  // as it was sent: methods are case-sensitive
  std::string_view target;
  int minor_version = 1;  // of HTTP/1.x
  std::vector<HttpHeader> headers;
  std::string_view body;
  bool keeps_alive = true;  // the client wants the connection to stay open

  // The value of the first header of that name, in whatever case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

struct HttpFailure {
  int status = 400;
  std::string reason;  // what is wrong, and what would be right
};

class HttpRequestParser {
 public:
  enum class Outcome : std::uint8_t { kNeedsMore, kComplete, kFailed };

  explicit HttpRequestParser(const HttpLimits& limits = {}) : limits_(limits) {}

  Outcome parse(std::string_view input);

  [[nodiscard]] const HttpRequest& request() const { return request_; }
  [[nodiscard]] std::size_t consumed() const { return at_; }
  [[nodiscard]] const HttpFailure& failure() const { return failure_; }
  // The client has sent "Expect: 100-continue" and, so far, nothing of its body: it may be waiting for an answer.
  [[nodiscard]] bool wants_continue() const { return wants_continue_; }
  // The headers are whole, and the body is not.
  [[nodiscard]] bool has_head() const;
  // The request without its body; only where has_head().
  const HttpRequest& read_head(std::string_view input);
  // True between requests, when a client that goes away has lost nothing.
  [[nodiscard]] bool is_idle() const { return step_ == Step::kStart; }

  // For the next request on the connection.
  void reset();

 private:
  enum class Step : std::uint8_t {
    kStart,
    kRequestLine,
    kHeaders,
    kBody,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailers,
    kComplete,
    kFailed,
  };
  // Bytes of the buffer, which may move between calls.
  struct Piece {
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  struct HeaderPieces {
    Piece name;
    Piece value;
  };
  enum class Transfer : std::uint8_t { kNone, kLength, kChunked };

  // Each step returns whether there is more to do with this input.
  bool start(std::string_view input);
  bool read_request_line(std::string_view input);
  bool read_header(std::string_view input);
  bool read_body(std::string_view input);
  bool read_chunk_size(std::string_view input);
  bool read_chunk_data(std::string_view input);
  bool read_chunk_end(std::string_view input);
  bool read_trailer(std::string_view input);

  struct LineLimit {
    std::size_t end_max;  // the offset which the line, with its end, must not pass
    int status;
    std::string_view reason;
  };
  // The line at at_, without its CR LF, which is passed; none if it is not whole yet, or failed.
  std::optional<std::string_view> next_line(std::string_view input, const LineLimit& limit);
  bool check_version(std::string_view version);
  std::optional<HttpHeader> split_header(std::string_view line);
  bool note_header(const HttpHeader& header);
  bool note_length(std::string_view value);
  bool note_transfer_encoding(std::string_view value);
  bool note_host(std::string_view value);
  void note_connection(std::string_view value);
  bool note_expectation(std::string_view value);
  bool finish_headers();
  void complete(std::string_view input);
  bool fail(int status, std::string reason);

  HttpLimits limits_;
  Step step_ = Step::kStart;
  std::size_t at_ = 0;          // everything before is understood
  std::size_t searched_ = 0;    // up to here there is no end of the line that starts at at_
  std::size_t section_at_ = 0;  // where the request line, the headers, the body or the trailers start
  Piece method_;
  Piece target_;
  std::vector<HeaderPieces> headers_;
  std::size_t trailers_ = 0;

  Transfer transfer_ = Transfer::kNone;
  std::size_t length_ = 0;  // of the body, or what is still to come of a chunk
  std::string chunks_;
  bool has_host_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  bool expects_continue_ = false;
  bool wants_continue_ = false;

  HttpRequest request_;
  HttpFailure failure_;
};

}  // namespace mete::wire
