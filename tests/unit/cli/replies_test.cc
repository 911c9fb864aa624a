// What somebody is told whose server answers with an error, or with what cannot be understood.
#include "cli/client/replies.h"

#include <gtest/gtest.h>

#include "unit/cli/table.h"

namespace mete::cli {
namespace {

TEST(Explain, SaysWhatToDoNext) {
  const struct {
    std::string_view reply;
    std::string_view message;
  } rows[] = {
      {"NOLIMIT unknown limit 'api'",
       "no limit 'api': define it with: mete limit set api bucket 100 --per 1m, or see: mete limit list"},
      {"NOLIMIT unknown limit 'a'b c'",
       "no limit 'a'b c': define it with: mete limit set NAME bucket 100 --per 1m, or see: mete limit list"},
      {"NOLIMIT unknown limit '--x'",
       "no limit '--x': define it with: mete limit set NAME bucket 100 --per 1m, or see: mete limit list"},
      {"NOHOLD no hold 'x': it is unknown, or was forgotten",
       "no hold 'x': it is unknown, or was forgotten; the open holds of a key are listed by: mete holds LIMIT KEY"},
      {"NOHOLD hold 'x' is committed already: a hold is final once",
       "hold 'x' is committed already: a hold is final once"},
      {"EXCEEDS amount 2 for 'x' exceeds the 1 held: commit less, or allow overage",
       "amount 2 for 'x' exceeds the 1 held: commit less, or allow overage with --overage"},
      {"NOAUTH Authentication required.",
       "Authentication required. Give the password with --password or in METE_PASSWORD."},
      {"ERR unknown command 'TAKE'", "unknown command 'TAKE'; is the server a Mete, and not older than this program?"},
      {"ERR \033[2Jboo", R"(\x1b[2Jboo)"},
      {"ODD", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(explain(error_of(row.reply)).message, row.message);
}

wire::RespValue integer(std::int64_t number) { return {.type = wire::RespType::kInteger, .integer = number}; }
wire::RespValue array(std::vector<wire::RespValue> elements) {
  return {.type = wire::RespType::kArray, .elements = std::move(elements)};
}

TEST(ReplyReader, ReadsPartsInTheirOrder) {
  const wire::RespValue reply = array({integer(7), bulk("x"), array({bulk("a"), bulk("b")}), {}});
  ReplyReader reader(reply);
  EXPECT_EQ(reader.integer(), 7);
  EXPECT_EQ(reader.text(), "x");
  EXPECT_EQ(reader.texts(), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(reader.finish());
  EXPECT_EQ(reader.text(), "");
  EXPECT_TRUE(reader.finish());
}

TEST(ReplyReader, TellsThatAReplyIsOfAnotherShape) {
  const wire::RespValue reply = array({bulk("7")});
  ReplyReader wrong_type(reply);
  wrong_type.integer();
  EXPECT_FALSE(wrong_type.finish());
  ReplyReader too_short(reply);
  too_short.text();
  too_short.integer();
  EXPECT_FALSE(too_short.finish());
  const wire::RespValue number = integer(1);
  ReplyReader no_list(number);
  no_list.texts();
  EXPECT_FALSE(no_list.finish());
}

}  // namespace
}  // namespace mete::cli
