// Replies of a server: their parts, and what an error among them means to somebody at the command line.
//
// A ReplyReader reads the parts one after the other; whether all were as expected is asked once, at the end.
//
//     ReplyReader reader(reply);
//     const Used used{.before = reader.integer(), .now = reader.integer()};
//     if (auto ok = reader.finish(); !ok) …
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer_fields.h"
#include "wire/resp_reply.h"

namespace mete::cli {

class ReplyReader {
 public:
  // `reply` outlives the reader. If it is no aggregate, it is itself the only part.
  explicit ReplyReader(const wire::RespValue& reply);

  std::int64_t integer();
  std::string text();  // nil is ""
  std::vector<std::string> texts();
  void read(Amount& number) { number = integer(); }
  void read(Duration& length);  // in milliseconds
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
Error unexpected_reply();

// The Error that an error reply tells: "NOLIMIT unknown limit 'api'". What is about the server says what to do.
Error error_of(std::string_view reply);
// What the error of a store or a server means to somebody at the command line, and what to do next.
Error explain(const Error& error);

// As a word of a shell; a name that would need quotes stays for the reader to fill in: NAME.
std::string word_for_shell(std::string_view name);

Error no_limit(std::string_view name);
Error no_hold(std::string_view id);

}  // namespace mete::cli
