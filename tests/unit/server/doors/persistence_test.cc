// What a server with a disk tells about it, and does with it when it is asked.
#include <gmock/gmock.h>

#include "server/observation/readings.h"
#include "unit/server/doors/synced_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RespClient;

class PersistenceTest : public testing::SyncedFixture {
 protected:
  PersistenceTest() { service.started_unix_seconds = 1'600'000'000; }

  std::string info() {
    const std::array<std::string_view, 1> sections = {"persistence"};
    return info_text(service, sections);
  }
  std::string readiness() {
    RespClient client = connect_http();
    client.send("GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return client.read_to_end();
  }
};

TEST_F(PersistenceTest, Saves) {
  RespClient client = connect();
  EXPECT_EQ(client.ask("SAVE"), "+OK");
  store.disk.saved = Error{ErrorCode::kUnavailable, "no space"};
  EXPECT_EQ(client.ask("SAVE"), "-UNAVAILABLE no space");
}

TEST_F(PersistenceTest, SavesInTheBackground) {
  RespClient client = connect();
  EXPECT_EQ(client.ask("BGSAVE"), "+Background saving started");
  EXPECT_EQ(client.ask("BGSAVE SCHEDULE"), "+Background saving started");
  store.disk.started_saving = false;
  EXPECT_EQ(client.ask("BGSAVE"), "-ERR Background save already in progress");
  EXPECT_EQ(client.ask("BGSAVE SCHEDULE"), "-ERR Background save already in progress");
  store.disk.started_saving = Error{ErrorCode::kUnavailable, "no space"};
  EXPECT_EQ(client.ask("BGSAVE"), "-UNAVAILABLE no space");
}

TEST_F(PersistenceTest, TellsWhenItLastSaved) {
  RespClient client = connect();
  EXPECT_EQ(client.ask("LASTSAVE"), "1600000000") << "the start";
  store.disk.told_status.last_save_at = Instant::from_unix_seconds(1'700'000'000);
  EXPECT_EQ(client.ask("LASTSAVE"), "1700000000");
  EXPECT_THAT(info(), HasSubstr("rdb_last_save_time:1700000000\r\n"));
}

TEST_F(PersistenceTest, SavesBeforeItStopsIfItIsTold) {
  std::latch was_shut_down(1);
  service.shut_down = [&] { was_shut_down.count_down(); };
  RespClient client = connect();
  store.disk.saved = Error{ErrorCode::kUnavailable, "no space"};
  EXPECT_EQ(client.ask("SHUTDOWN SAVE"), "-UNAVAILABLE no space");
  EXPECT_FALSE(was_shut_down.try_wait());
  store.disk.saved = {};
  client.send("SHUTDOWN SAVE\r\n");
  was_shut_down.wait();
}

TEST_F(PersistenceTest, StopsWithoutSavingIfItIsTold) {
  std::latch was_shut_down(1);
  service.shut_down = [&] { was_shut_down.count_down(); };
  store.disk.saved = Error{ErrorCode::kUnavailable, "no space"};
  RespClient client = connect();
  EXPECT_EQ(client.ask("SHUTDOWN NOSAVE"), "(closed)");
  was_shut_down.wait();
}

TEST_F(PersistenceTest, TellsAboutTheJournal) {
  store::PersistenceStatus& status = store.disk.told_status;
  status.journal_bytes = 11;
  status.journal_segments = 12;
  status.unsynced_bytes = 13;
  status.records_total = 14;
  status.syncs_total = 15;
  status.last_sync_us = 16'000;
  status.recovered_records = 17;
  status.recovered_snapshot_bytes = 18;
  status.cut = {"segment-0000000003", 4096, 19};
  status.recovery_took = 20ms;
  for (const std::string_view line : {"loading:0",
                                      "aof_enabled:1",
                                      "aof_current_size:11",
                                      "aof_last_write_status:ok",
                                      "journal_bytes:11",
                                      "journal_segments:12",
                                      "journal_unsynced_bytes:13",
                                      "journal_records:14",
                                      "journal_syncs:15",
                                      "journal_last_sync_us:16000",
                                      "journal_failure:",
                                      "recovered_records:17",
                                      "recovered_snapshot_bytes:18",
                                      "cut_bytes:19",
                                      "recovery_ms:20",
                                      "rdb_bgsave_in_progress:0",
                                      "rdb_last_bgsave_status:ok",
                                      "rdb_last_bgsave_time_sec:-1",
                                      "rdb_current_bgsave_time_sec:-1",
                                      "saving_progress:0"}) {
    EXPECT_THAT(info(), HasSubstr("\n" + std::string(line) + "\r\n"));
  }
  for (const std::string_view line :
       {"mete_store_failed 0", "mete_journal_bytes 11", "mete_journal_segments 12", "mete_journal_unsynced_bytes 13",
        "mete_journal_records_total 14", "mete_journal_syncs_total 15", "mete_journal_last_sync_seconds 0.016",
        "mete_journal_recovered_records 17", "mete_snapshot_recovered_bytes 18", "mete_journal_cut_bytes 19",
        "mete_recovery_seconds 0.02", "mete_snapshots_total 0", "mete_snapshot_last_timestamp_seconds 0"}) {
    EXPECT_THAT(prometheus_text(service), HasSubstr("\n" + std::string(line) + "\n"));
  }
}

TEST_F(PersistenceTest, TellsAboutSnapshots) {
  store::PersistenceStatus& status = store.disk.told_status;
  status.is_saving = true;
  status.saving_done = 2;
  status.saving_total = 3;
  status.saving_since = store.now() + Duration::from_ns(-90'000'000'000);
  status.saves_total = 4;
  status.last_save_at = Instant::from_unix_seconds(1'700'000'000);
  status.last_save_took = 5s;
  status.last_save_bytes = 6;
  status.last_save_failure = Error{ErrorCode::kUnavailable, "no\nspace"};
  for (const std::string_view line :
       {"rdb_bgsave_in_progress:1", "rdb_last_bgsave_status:err", "rdb_last_bgsave_time_sec:5", "rdb_saves:4",
        "rdb_current_bgsave_time_sec:91", "saving_progress:66", "snapshot_bytes:6", "snapshot_failure:no\\nspace"}) {
    EXPECT_THAT(info(), HasSubstr("\n" + std::string(line) + "\r\n"));
  }
  for (const std::string_view line :
       {"mete_snapshots_total 4", "mete_snapshot_in_progress 1", "mete_snapshot_progress_ratio 0.66",
        "mete_snapshot_last_failed 1", "mete_snapshot_last_timestamp_seconds 1700000000",
        "mete_snapshot_last_duration_seconds 5", "mete_snapshot_bytes 6"}) {
    EXPECT_THAT(prometheus_text(service), HasSubstr("\n" + std::string(line) + "\n"));
  }
}

TEST_F(PersistenceTest, AFailureIsInPlainSight) {
  EXPECT_THAT(readiness(), HasSubstr("200 OK"));
  store.disk.fail("the disk is full");
  EXPECT_THAT(info(), HasSubstr("\naof_last_write_status:err\r\n"));
  EXPECT_THAT(info(), HasSubstr("\njournal_failure:the disk is full\r\n"));
  EXPECT_THAT(prometheus_text(service), HasSubstr("\nmete_store_failed 1\n"));
  EXPECT_THAT(readiness(), HasSubstr("503 Service Unavailable"));
  EXPECT_THAT(readiness(), HasSubstr("the disk is full"));
}

TEST(MemoryOnly, HasNoJournalToTellAbout) {
  store::EmbeddedStore store{Options{}};
  Service service(store, {}, testing::make_workers(1));
  const std::array<std::string_view, 1> sections = {"persistence"};
  EXPECT_EQ(info_text(service, sections), "# Persistence\r\nloading:0\r\nrdb_last_save_time:0\r\naof_enabled:0\r\n");
  EXPECT_THAT(prometheus_text(service), HasSubstr("\nmete_store_failed 0\n"));
  EXPECT_THAT(prometheus_text(service), Not(HasSubstr("mete_journal_bytes")));
}

}  // namespace
}  // namespace mete::server
