// HttpSkimmer: goes over HTTP responses as wire::ReplySkimmer does over replies: it sees their ends and their status.
//
// Only what answers keep-alive requests one by one: a response tells its length by Content-Length.
#pragma once

#include <mete/result.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/try.h"
#include "wire/resp_skimmer.h"

namespace mete::lab {

class HttpSkimmer {
 public:
  static constexpr std::size_t kHeadBytesMax = std::size_t{16} << 10;

  // As wire::ReplySkimmer: the reply's integer is 0 for 429 (a denial), 1 for any other success; the rest is an error,
  // whose text is the status line. What is left over is less than a response's head.
  template <class OnReply>
  Result<std::size_t> skim(std::string_view bytes, OnReply&& on_reply) {
    std::size_t used = 0;
    while (used < bytes.size()) {
      if (!is_in_body_) {
        const auto head = TRY(take_head(bytes.substr(used)));
        if (head == 0) break;
        used += head;
      }
      const std::size_t skipped = std::min(body_missing_, bytes.size() - used);
      used += skipped;
      body_missing_ -= skipped;
      if (body_missing_ > 0) break;
      is_in_body_ = false;
      on_reply(static_cast<const wire::SkimmedReply&>(reply_));
    }
    return used;
  }

 private:
  // The length of the head; 0 if it is not all there.
  Result<std::size_t> take_head(std::string_view bytes);

  bool is_in_body_ = false;
  std::size_t body_missing_ = 0;
  wire::SkimmedReply reply_;
};

}  // namespace mete::lab
