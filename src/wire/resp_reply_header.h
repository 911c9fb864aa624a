// The first line of each part of a reply: its type, and how much of it follows. RESP2 and RESP3.
//
//     :1000\r\n                  the line is the value
//     $5\r\nalice\r\n            so many bytes follow, and \r\n
//     *2\r\n :1\r\n :2\r\n       so many parts follow (a map announces pairs)
//     |1\r\n +ttl\r\n :9\r\n     an attribute: so many pairs follow, and then the value that they are about
//
// Strings and aggregates whose length is not told ahead (`$?`, `*?`) are refused: no server sends them unasked.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mete::wire {

enum class RespType : std::uint8_t {
  kNull,
  kSimple,
  kError,
  kInteger,
  kBulk,
  kArray,
  kMap,
  kSet,
  kPush,
  kDouble,
  kBoolean,
  kBigNumber,
  kVerbatim,
};

// What a server may send before a client gives up on it.
struct ReplyLimits {
  std::size_t bulk_bytes_max = std::size_t{512} << 20;
  std::size_t line_bytes_max = std::size_t{64} << 10;
  std::size_t elements_max = std::size_t{1} << 20;  // in one reply, at all depths, attributes included
  std::size_t depth_max = 32;
};

struct ReplyHeader {
  enum class Form : std::uint8_t { kLine, kBytes, kParts, kAttribute };

  RespType type = RespType::kNull;
  Form form = Form::kLine;
  std::size_t count = 0;       // of the bytes or parts that follow: a pair is two parts
  std::int64_t integer = 0;    // kInteger, and kBoolean as 0 or 1
  double number = 0;           // kDouble
  std::string_view text = {};  // kSimple, kError and kBigNumber as a line
};

// `line` is without its \r\n. The error says what is wrong with it.
Result<ReplyHeader> parse_reply_header(std::string_view line, const ReplyLimits& limits);

// What is wrong when a line goes on and on.
Error endless_reply_line(std::string_view start);

}  // namespace mete::wire
