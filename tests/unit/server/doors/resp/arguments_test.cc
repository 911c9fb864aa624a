#include "server/doors/resp/arguments.h"

#include <gtest/gtest.h>

#include "server/doors/resp/command_table.h"
#include "unit/server/doors/resp/words.h"
#include "wire/text.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

// What was read, by the names of the declaration: "limit=api key=alice COST=1; ID=op".
std::string read_with(Arguments& arguments, std::string_view request) {
  const auto words = words_of(request);
  const auto found = find_command(words);
  if (found.command == nullptr) return "unknown command";
  const auto read = arguments.read(*found.command, std::span(words).subspan(found.command->name_words()));
  if (!read) return "error: " + read.error().message;
  std::string text;
  for (const Charge& charge : arguments.charges()) {
    text += std::string(charge.limit) + "/" + std::string(charge.key) + "/" + std::to_string(charge.cost) + " ";
  }
  for (std::size_t index = 0; index < found.command->arguments.size(); ++index) {
    const Argument& argument = found.command->arguments[index];
    if (!arguments.has(index)) continue;
    text += argument.is_option() ? argument.word : argument.name;
    if (argument.is_multiple) {
      for (const std::string_view word : arguments.rest()) text += "," + std::string(word);
    } else if (argument.type == ArgumentType::kInteger) {
      text += "=" + std::to_string(arguments.integer(index));
    } else if (argument.type == ArgumentType::kDuration || argument.type == ArgumentType::kDecimal) {
      text += "=" + std::to_string(arguments.duration(index).ns()) + "ns";
    } else if (argument.type != ArgumentType::kFlag) {
      text += "=" + std::string(arguments.text(index));
    }
    text += " ";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

TEST(Arguments, AreReadByTheDeclaration) {
  const std::string not_integer = "error: value is not an integer or out of range";
  const struct {
    std::string_view request;
    std::string expected;
  } rows[] = {
      {"TAKE api alice", "api/alice/1"},
      {"TAKE api alice COST 5", "api/alice/5"},
      {"TAKE api alice COST -5", "api/alice/-5"},
      {"TAKE api alice COST 5 AND day alice AND disk acme COST 7", "api/alice/5 day/alice/1 disk/acme/7"},
      {"TAKE api alice ID op WAIT 5s FORCE", "api/alice/1 ID=op FORCE WAIT=5000000000ns"},
      {"take api alice force wait 250ms id op cost 2", "api/alice/2 ID=op FORCE WAIT=250000000ns"},
      {"TAKE AND COST", "AND/COST/1"},
      {"TAKE api alice ID AND", "api/alice/1 ID=AND"},
      {"TAKE api alice ID op AND day alice COST 3", "api/alice/1 day/alice/3 ID=op"},
      {"TAKE api alice FORCE UPTO", "error: syntax error"},
      {"TAKE api alice FORCE FORCE", "error: syntax error"},
      {"TAKE api alice ID a ID b", "error: syntax error"},
      {"TAKE api alice ID", "error: syntax error"},
      {"TAKE api alice COST", "error: syntax error"},
      {"TAKE api alice COST 1 COST 2", "error: syntax error"},
      {"TAKE api alice AND day", "error: syntax error"},
      {"TAKE api alice 5", "error: syntax error"},
      {"TAKE api alice COST 1.5", not_integer},
      {"TAKE api alice COST 9223372036854775808", not_integer},
      {"TAKE api alice COST 05", not_integer},
      {"TAKE api alice COST +5", not_integer},
      {"TAKE api alice WAIT x",
       "error: \"x\" is not a duration: it does not start with a number; write it as 250ms, 1s, 5m, 1h or 30d"},
      {"PEEK api alice ID x", "error: syntax error"},
      {"COMMIT h", "id=h"},
      {"COMMIT h 1 2 3", "id=h n,1,2,3"},
      {"COMMIT h 1 2 OVERAGE", "id=h n,1,2 OVERAGE"},
      {"COMMIT h overage", "id=h OVERAGE"},
      {"COMMIT h OVERAGE 1", "error: syntax error"},
      {"SET k 5 NX PX 100 GET", "key=k value=5 PX=100 NX GET"},
      {"SET k 5 EX 1 KEEPTTL", "error: syntax error"},
      {"SET k 5 NX XX", "error: syntax error"},
      {"SET EX EX", not_integer},
      {"SET k x EX", not_integer},
      {"QUOTAINCR q 5 60", "key=q limit=5 window_secs=60"},
      {"QUOTAINCR q 5 60 2", "key=q limit=5 window_secs=60 n=2"},
      {"QUOTAINCR q 5 60 2 3", "error: wrong number of arguments for 'quotaincr' command"},
      {"GCRA k 1 2 0.5 TOKENS 3", "key=k max_burst=1 tokens_per_period=2 period=500000000ns TOKENS=3"},
      {"GCRA k 1 2 x", "error: value is not a valid number of seconds"},
      {"MGET a b c", "key,a,b,c"},
      {"PING", ""},
      {"PING EX", "message=EX"},
      {"LIMIT SET x STOCK 5 SHADOW", "name=x STOCK=5 SHADOW"},
      {"LIMIT SET x WINDOW 5 PER 1h SLIDING 5", "error: syntax error"},
      {"HELLO 3 AUTH default pw", "protover [AUTH username password] [SETNAME name],3,AUTH,default,pw"},
  };
  Arguments reused;  // Nothing of one request may show in the next.
  for (const auto& row : rows) {
    Arguments fresh;
    EXPECT_EQ(read_with(fresh, row.request), row.expected) << row.request;
    EXPECT_EQ(read_with(reused, row.request), row.expected) << row.request;
  }
}

TEST(Arguments, HaveSixteenChargesAtMost) {
  std::string request = "TAKE l k";
  for (int count = 1; count < 16; ++count)
    request += " AND l" + std::to_string(count) + " k COST " + std::to_string(count);
  Arguments arguments;
  EXPECT_TRUE(read_with(arguments, request).ends_with(" l15/k/15"));
  EXPECT_EQ(arguments.charges().size(), kChargesMax);
  EXPECT_EQ(read_with(arguments, request + " AND l16 k"), "error: more than 16 charges in one operation");
}

}  // namespace
}  // namespace mete::server
