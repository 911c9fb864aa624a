#include "store/mete/replies.h"

#include <gtest/gtest.h>

namespace mete::store::servers {
namespace {

TEST(PeerErrors, AreWhatTheStoreThereSaid) {
  const net::Address server{.host = "h", .port = 1, .path = {}};
  const struct {
    std::string_view text;
    ErrorCode code;
    std::string_view message;
  } rows[] = {
      {"NOLIMIT unknown limit 'x'", ErrorCode::kNoLimit, "unknown limit 'x'"},
      {"NOHOLD no hold 'x'", ErrorCode::kNoHold, "no hold 'x'"},
      {"EXPIRED it was", ErrorCode::kExpired, "it was"},
      {"EXCEEDS more", ErrorCode::kExceeds, "more"},
      {"MISMATCH other", ErrorCode::kMismatch, "other"},
      {"WRONGTYPE of key", ErrorCode::kWrongType, "of key"},
      {"OOM full", ErrorCode::kOutOfMemory, "full"},
      {"UNAVAILABLE the disk", ErrorCode::kUnavailable, "the disk"},
      {"ERR cost must be", ErrorCode::kInvalid, "cost must be"},
      {"ERR unknown command 'STORE'", ErrorCode::kInvalid,
       "h:1 is no Mete server, or one of an earlier version: it knows no STORE commands"},
      {"ERR unknown subcommand 'GIVE'. Try STORE HELP.", ErrorCode::kInvalid,
       "h:1 is no Mete server, or one of an earlier version: it knows no STORE commands"},
      {"NOAUTH Authentication required.", ErrorCode::kInvalid,
       "h:1 refused: NOAUTH Authentication required.; put its password into the URL: mete://:password@host:port"},
      {"LOADING soon", ErrorCode::kUnavailable, "h:1 answers: \"LOADING soon\""},
      {"", ErrorCode::kUnavailable, "h:1 answers: \"\""},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of(row.text, server), (Error{row.code, std::string(row.message)}));
}

}  // namespace
}  // namespace mete::store::servers
