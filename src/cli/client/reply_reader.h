// ReplyReader: the parts of a reply, one after the other. What was not as expected is asked for once, at the end.
//
//     ReplyReader reader(reply);
//     const Used used{.before = reader.integer(), .now = reader.integer()};
//     if (auto ok = reader.finish(); !ok) …
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "wire/resp_reply.h"

namespace mete::cli {

class ReplyReader {
 public:
  // `reply` outlives the reader. If it is no aggregate, it is itself the only part.
  explicit ReplyReader(const wire::RespValue& reply);

  std::int64_t integer();
  std::string text();  // nil is ""
  std::vector<std::string> texts();
  // The next part, whatever it is.
  const wire::RespValue& any();

  [[nodiscard]] bool has_more() const { return next_ < count_; }
  // An error if a part was missing or of another type, or is left over.
  [[nodiscard]] Result<void> finish() const;

 private:
  const wire::RespValue* parts_;
  std::size_t count_;
  std::size_t next_ = 0;
  bool is_bad_ = false;
};

bool is_aggregate(const wire::RespValue& value);
bool is_nil(const wire::RespValue& value);
Error unexpected_reply();

}  // namespace mete::cli
