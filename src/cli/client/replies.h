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
  void read(std::string& words) { words = text(); }
  void read(HoldState& state);
  void read(std::vector<HeldCharge>& charges);
  // The fields of an answer, in their order.
  template <class Answer, class... More>
  void read_fields(Answer& answer, const More&... more) {
    describe_fields(
        answer, [&](std::string_view /*name*/, auto& value, std::string_view /*meaning*/) { read(value); }, more...);
  }
  // All of them by their names, which stand before them. A later server may have more to tell.
  template <class Answer>
  void read_pairs(Answer& answer) {
    while (has_more()) {
      const std::string pair = text();
      const std::size_t at = next_;
      describe_fields(answer, [&](std::string_view name, auto& value, std::string_view /*meaning*/) {
        if (name == pair) read(value);
      });
      if (next_ == at) any();
    }
  }
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

template <class Answer>
Result<Answer> read_answer(const wire::RespValue& reply) {
  ReplyReader reader(reply);
  Answer answer;
  reader.read_fields(answer);
  return reader.finish().map([&] { return answer; });
}

struct LimitMember {
  std::string name;
  wire::RespValue value;  // an integer or a text
};
// A limit as the server tells it: name, kind, amount, and what else was said when it was defined.
using LimitDefinition = std::vector<LimitMember>;
Result<LimitDefinition> read_limit(const wire::RespValue& reply);

bool is_aggregate(const wire::RespValue& value);
bool is_nil(const wire::RespValue& value);
Error unexpected_reply();

// What an error reply means, and what to do next. `reply` as the server sent it: "NOLIMIT unknown limit 'api'".
Error explain(std::string_view reply);

// As a word of a shell; a name that would need quotes stays for the reader to fill in: NAME.
std::string word_for_shell(std::string_view name);

Error no_limit(std::string_view name);
Error no_hold(std::string_view id);

}  // namespace mete::cli
