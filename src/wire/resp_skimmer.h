// ReplySkimmer: goes over replies without making values of them, as cheaply as it can: for a client that only counts.
//
// It sees where replies end, which of them are errors, and the integer that a reply is or that its array begins with.
// What it does not need it does not check. Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/resp_reply_header.h"

namespace mete::wire {

struct SkimmedReply {
  bool is_error = false;
  bool has_integer = false;  // it is an integer, or an array that begins with one
  std::int64_t integer = 0;
  std::string_view error = {};  // the error's text, unless it is a bulk error; it lies in the bytes that were given
};

class ReplySkimmer {
 public:
  explicit ReplySkimmer(ReplyLimits limits = {}) : limits_(limits) {}

  // Calls `on_reply(const SkimmedReply&)` at the end of each reply. Returns how many of the bytes are dealt with; the
  // rest is less than a line, and must be given again with what follows it.
  template <class OnReply>
  Result<std::size_t> skim(std::string_view bytes, OnReply&& on_reply) {
    std::size_t used = 0;
    while (used < bytes.size()) {
      used += skim_reply(bytes.substr(used));
      if (!is_whole_) break;
      on_reply(static_cast<const SkimmedReply&>(reply_));
    }
    if (failure_) return *failure_;
    return used;
  }

 private:
  // Goes on to the end of the reply, or as far as there are bytes; returns how far that is.
  std::size_t skim_reply(std::string_view bytes);
  void take_line(std::string_view line);
  void take_header(std::string_view line);
  void take_integer(std::string_view digits);
  void begin_next();

  ReplyLimits limits_;
  // Nesting needs no stack: an aggregate is one part less to come, and all of its own parts more.
  std::size_t missing_ = 1;            // parts that are to come until the reply is whole
  std::size_t attribute_missing_ = 0;  // parts of an attribute that are to come before the value goes on
  std::size_t skip_ = 0;               // bytes of a string that are to come, its \r\n included
  std::size_t elements_ = 0;           // announced in the present reply, at all depths
  bool is_first_ = true;               // the next part is the reply's first
  bool may_be_integer_ = true;         // the next part is where the integer would be
  bool is_whole_ = false;
  SkimmedReply reply_;
  std::optional<Error> failure_;
};

}  // namespace mete::wire
