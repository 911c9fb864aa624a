// RequestParser: RESP requests out of a stream of bytes, without I/O.
//
//     *3\r\n $4\r\nTAKE\r\n $3\r\napi\r\n $5\r\nalice\r\n      an array of bulk strings
//     TAKE api "al ice"\r\n                                    an inline command: words, quoted as in redis-cli
//
// Feed it the bytes from the start of a request; it remembers how far it has read, so a request that arrives one byte
// at a time costs no more than one that arrives whole. It is strict: a length is plain decimal, lines end in CRLF
// (inline ones may end in LF), and every size is bounded. After an error the stream cannot be trusted any more: close
// it.
//
// Thread safety: one stream, one thread.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mete::wire {

struct RequestLimits {
  std::size_t arguments_max = 1'048'576;
  std::size_t bulk_bytes_max = 1'048'576;
  std::size_t inline_bytes_max = 65'535;
};

// Before a client has authenticated, it gets no memory to speak of.
inline constexpr RequestLimits kUnauthenticatedLimits = {10, 4'096, 4'096};

// A whole request of up to sixteen words whose lengths have one or two digits, as nearly all are.
struct UsualRequest {
  static constexpr std::size_t kWordsMax = 16;

  std::size_t consumed = 0;  // bytes of the input
  std::size_t count = 0;
  std::array<std::string_view, kWordsMax> all_words;  // only `count` of them mean something

  [[nodiscard]] std::span<const std::string_view> words() const { return {all_words.data(), count}; }
  // False if the input does not start with such a request.
  bool read(std::string_view input);
};

class RequestParser {
 public:
  enum class Status : std::uint8_t { kNeedMore, kRequest, kError };

  explicit RequestParser(const RequestLimits& limits) : limits_(limits) {}

  void set_limits(const RequestLimits& limits) { limits_ = limits; }

  // `input` starts where the present request starts, and has at least the bytes of the last call, wherever they are
  // now.
  Status parse(std::string_view input);

  // After kRequest: its words, views into `input` or into the parser until the next call; none for an empty request.
  [[nodiscard]] std::span<const std::string_view> words() const { return words_; }
  // After kRequest: how many bytes of the input it was.
  [[nodiscard]] std::size_t consumed() const { return consumed_; }
  // After kError: what stands behind "Protocol error: ".
  [[nodiscard]] const std::string& error() const { return error_; }
  // After kRequest, once its words are needed no more: gives the memory of a request of many words back.
  void release_words();
  // What it keeps in memory of its own.
  [[nodiscard]] std::size_t buffered_bytes() const { return words_.capacity() * sizeof(std::string_view); }
  // Whether a request has begun and is not complete.
  [[nodiscard]] bool is_within_request() const { return position_ > 0; }

 private:
  Status parse_array(std::string_view input);
  Status parse_inline(std::string_view input);
  Status split_words(std::string_view rest);
  // A line "<mark><integer>\r\n" at position_.
  Status parse_length(std::string_view input, char mark, std::int64_t& length);
  Status parse_bulk(std::string_view input);
  void follow(std::string_view input);
  Status fail(std::string reason);
  Status finish(std::size_t consumed);

  RequestLimits limits_;
  std::vector<std::string_view> words_;
  std::list<std::string> unquoted_;  // the words of an inline command that had to be unescaped
  const char* base_ = nullptr;       // where the input of the last call was
  std::size_t position_ = 0;         // how far the request has been read
  std::int64_t missing_ = -1;        // bulks still to come; -1: the array's length is not read yet
  std::int64_t bulk_length_ = -1;    // of the bulk at position_; -1: not read yet
  std::size_t consumed_ = 0;
  std::string error_;
};

}  // namespace mete::wire
