// RespValue: a reply as a tree; and ReplyParser, which makes it out of bytes as they come. RESP2 and RESP3, no I/O.
//
//     parser.append(bytes);
//     for (auto reply = parser.next(); reply && *reply; reply = parser.next()) { use(**reply); }
//
// A bad reply is an error, and stays one: where the next reply would begin is not known any more.
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/resp_reply_header.h"

namespace mete::wire {

struct RespValue {
  RespType type = RespType::kNull;
  std::int64_t integer = 0;              // kInteger, and kBoolean as 0 or 1
  double number = 0;                     // kDouble
  std::string text = {};                 // kSimple, kError, kBulk, kBigNumber; kVerbatim without its "txt:"
  std::vector<RespValue> elements = {};  // kArray, kSet, kPush; kMap as key, value, key, value

  [[nodiscard]] bool is_error() const { return type == RespType::kError; }
  bool operator==(const RespValue&) const = default;
};

class ReplyParser {
 public:
  explicit ReplyParser(ReplyLimits limits = {}) : limits_(limits) {}

  void append(std::string_view bytes);
  // The next whole reply; nullopt if more bytes are needed. Attributes are read and dropped.
  Result<std::optional<RespValue>> next();

 private:
  // An aggregate whose parts are still coming; an attribute is one that is dropped when it is whole.
  struct Open {
    RespValue value;
    std::size_t missing = 0;
    bool is_attribute = false;
  };

  // A part is whole, or parts of it are to come, or bytes are missing.
  enum class Step : std::uint8_t { kWhole, kOpened, kNeedsBytes };
  Result<Step> read_part(RespValue& value);
  Result<Step> begin(const ReplyHeader& header, RespValue& value);
  Result<Step> read_bytes(RespValue& value);
  // Puts a whole part where it belongs; true if that makes the reply whole, which is then in `value`.
  bool close(RespValue& value);
  std::optional<std::string_view> take_line();
  void drop_consumed();

  ReplyLimits limits_;
  std::string buffer_;
  std::size_t consumed_ = 0;  // bytes of the buffer that are dealt with
  std::size_t scanned_ = 0;   // bytes of the buffer that hold no end of the present line
  std::vector<Open> open_;
  std::optional<ReplyHeader> bytes_;  // of a string whose bytes are to come
  std::size_t elements_ = 0;          // of the present reply, at all depths
  std::optional<Error> failure_;
};

}  // namespace mete::wire
