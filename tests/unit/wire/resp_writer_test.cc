#include "wire/resp_writer.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace mete::wire {
namespace {

std::string written(RespVersion version, const std::function<void(RespWriter&)>& write) {
  base::Output output;
  RespWriter writer(output, version);
  write(writer);
  EXPECT_EQ(writer.position(), output.size());
  return std::string(output.view());
}

TEST(RespWriter, WritesEveryShapeInBothVersions) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  const struct {
    std::function<void(RespWriter&)> write;
    std::string_view in_resp2;
    std::string_view in_resp3;
  } rows[] = {
      {[](RespWriter& w) { w.ok(); }, "+OK\r\n", "+OK\r\n"},
      {[](RespWriter& w) { w.simple("PONG"); }, "+PONG\r\n", "+PONG\r\n"},
      {[](RespWriter& w) { w.simple(""); }, "+\r\n", "+\r\n"},
      {[](RespWriter& w) { w.error("ERR", "no"); }, "-ERR no\r\n", "-ERR no\r\n"},
      {[](RespWriter& w) { w.error("ERR", ""); }, "-ERR\r\n", "-ERR\r\n"},
      {[](RespWriter& w) { w.error("ERR", "a\r\nb\nc\r"); }, "-ERR a  b c \r\n", "-ERR a  b c \r\n"},
      {[](RespWriter& w) {
         w.error({ErrorCode::kNoLimit, "unknown limit 'x'"});
       },
       "-NOLIMIT unknown limit 'x'\r\n", "-NOLIMIT unknown limit 'x'\r\n"},
      {[](RespWriter& w) { w.integer(0); }, ":0\r\n", ":0\r\n"},
      {[](RespWriter& w) { w.integer(kMin); }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
      {[](RespWriter& w) { w.bulk("a\r\nb"); }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
      {[](RespWriter& w) { w.bulk({}); }, "$0\r\n\r\n", "$0\r\n\r\n"},
      {[](RespWriter& w) { w.verbatim("hi"); }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
      {[](RespWriter& w) { w.null(); }, "$-1\r\n", "_\r\n"},
      {[](RespWriter& w) { w.null_array(); }, "*-1\r\n", "_\r\n"},
      {[](RespWriter& w) { w.array(0); }, "*0\r\n", "*0\r\n"},
      {[](RespWriter& w) { w.map(2); }, "*4\r\n", "%2\r\n"},
      {[](RespWriter& w) { w.set(3); }, "*3\r\n", "~3\r\n"},
      {[](RespWriter& w) { w.integers(); }, "*0\r\n", "*0\r\n"},
      {[](RespWriter& w) { w.integers_first(5, 1, -2, kMin); }, "*5\r\n:1\r\n:-2\r\n:-9223372036854775808\r\n",
       "*5\r\n:1\r\n:-2\r\n:-9223372036854775808\r\n"},
      {[](RespWriter& w) {
         w.null();
         w.set_version(RespVersion::k3);
         w.null();
       },
       "$-1\r\n_\r\n", "_\r\n_\r\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(written(RespVersion::k2, row.write), row.in_resp2);
    EXPECT_EQ(written(RespVersion::k3, row.write), row.in_resp3);
  }
}

// The line ends of an earlier error are not spaces.
TEST(RespWriter, AnErrorLeavesWhatStandsBeforeIt) {
  EXPECT_EQ(written(RespVersion::k2,
                    [](RespWriter& w) {
                      w.bulk("a\nb");
                      w.error("ERR", "c\nd");
                    }),
            "$3\r\na\nb\r\n-ERR c d\r\n");
}

TEST(RespWriter, WritesWhatIsLargerThanTheRoomThereIs) {
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(written(RespVersion::k2, [&](RespWriter& w) { w.bulk(large); }), "$1000000\r\n" + large + "\r\n");
  EXPECT_EQ(written(RespVersion::k2, [&](RespWriter& w) { w.error("ERR", large); }), "-ERR " + large + "\r\n");
}

}  // namespace
}  // namespace mete::wire
