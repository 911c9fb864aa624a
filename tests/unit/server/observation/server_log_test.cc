#include "server/observation/server_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/log.h"
#include "store/persistence.h"

namespace mete::server {
namespace {

using ::testing::HasSubstr;

std::string logged(const store::PersistenceStatus& status) {
  std::FILE* const file = std::tmpfile();
  base::Log log(::fileno(file));
  log_recovery(status, log);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(RecoveryLog, SaysWhatWasRecovered) {
  store::PersistenceStatus status;
  EXPECT_EQ(logged(status), "");
  status.recovered_records = 7;
  status.recovered_snapshot_bytes = 1234;
  status.recovery_took = std::chrono::milliseconds(56);
  EXPECT_THAT(logged(status), HasSubstr("recovered  snapshot_bytes=1234  journal_records=7  took_ms=56"));
}

TEST(RecoveryLog, WarnsOfATailThatWasCutOff) {
  store::PersistenceStatus status;
  status.cut = {"segment-0000000003", 512, 99};
  EXPECT_THAT(logged(status), HasSubstr("warning"));
  EXPECT_THAT(logged(status), HasSubstr("file=segment-0000000003  offset=512  bytes=99"));
}

}  // namespace
}  // namespace mete::server
