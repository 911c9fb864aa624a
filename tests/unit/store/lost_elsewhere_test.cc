// PostgreSQL and etcd that lose their state while they are watched: dropped and made anew, wiped, or put back to what a
// dump or a snapshot had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "store/away/watched_store.h"
#include "store/etcd/client.h"
#include "store/etcd/url.h"
#include "store/open.h"
#include "support/etcd_server.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// A store with a bucket and a stock, of which one unit is used, behind a WatchedStore that looks when it is told to.
class Watched {
 public:
  explicit Watched(const std::string& url, const Options& options = {}) {
    store_ = *WatchedStore::open(open_store(url, options).value(),
                                 {.name = "it", .log = &log_, .clock = &clock_, .has_thread = false});
    define();
    store_->on_loss([this]() -> Result<void> {
      define();
      return {};
    });
    EXPECT_TRUE(take("disk"));
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { std::fclose(file_); }

  // By then nobody else makes an identity at the same time, and the time is written down again.
  void let_pass(Duration time) {
    clock_.advance(time);
    store_->look();
  }
  bool take(std::string_view limit) {
    const Charge charge{limit, "k", 1};
    const auto verdict = store_->take({.charges = {&charge, 1}});
    return verdict.has_value() && verdict->is_allowed;
  }
  [[nodiscard]] Instant now() const { return store_->now(); }
  [[nodiscard]] std::vector<std::string> limits() { return store_->limits().value(); }
  std::string logged() {
    std::string text;
    std::rewind(file_);
    for (int byte = std::fgetc(file_); byte != EOF; byte = std::fgetc(file_)) text += static_cast<char>(byte);
    return text;
  }
  // The loss is told, the limits are there again, and takes of a stock wait for somebody who knows what was used.
  void expect_loss() {
    EXPECT_TRUE(support::becomes_true(20s, [this] {
      let_pass(1s);
      return logged().find("the store has lost its state") != std::string::npos;
    })) << logged();
    let_pass(1s);
    EXPECT_THAT(limits(), ::testing::IsSupersetOf({"api", "disk"}));
    EXPECT_FALSE(take("disk"));
    store_->set_when_wiped(WhenWiped::kFresh);
    EXPECT_TRUE(take("disk"));
  }

 private:
  void define() {
    store_->define(bucket("api").amount(10).per(60s)).value();
    store_->define(stock("disk").amount(10)).value();
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  std::FILE* const file_ = std::tmpfile();
  base::Log log_{::fileno(file_)};
  std::unique_ptr<WatchedStore> store_;
};

TEST(LostElsewhere, OfPostgresThatIsDroppedAndInstalledAnew) {
  support::PostgresServer& server = support::shared_postgres();
  Watched watched(server.patient_url());
  watched.let_pass(20s);
  EXPECT_THAT(watched.logged(), Not(HasSubstr("lost its state")));
  server.query("drop schema mete, mete_private cascade");
  watched.let_pass(1s);
  EXPECT_FALSE(watched.take("disk")) << "an outage, until it is installed";
  server.install_schema();
  watched.expect_loss();
}

TEST(LostElsewhere, OfPostgresThatIsRestoredFromAnOldDump) {
  support::PostgresServer& server = support::shared_postgres();
  Watched watched(server.patient_url());
  watched.let_pass(20s);
  server.query(
      "drop schema if exists dump cascade; create schema dump; create table dump.limits as table mete.limits; "
      "create table dump.revisions as table mete.revisions; create table dump.meters as table mete.meters");
  const Instant later = watched.now() + Duration(5min);
  server.set_time(server.time() + Duration(5min));
  EXPECT_TRUE(watched.take("disk"));
  ASSERT_TRUE(support::becomes_true(20s, [&] { return watched.now() >= later; }));
  watched.let_pass(20s);
  EXPECT_THAT(watched.logged(), Not(HasSubstr("lost its state")));
  server.query(
      "delete from mete.meters; delete from mete.revisions; insert into mete.revisions select * from dump.revisions; "
      "insert into mete.meters overriding system value select * from dump.meters; drop schema dump cascade");
  watched.let_pass(20s);
  watched.expect_loss();
}

TEST(LostElsewhere, OfEtcdWhosePrefixIsDeleted) {
  const std::string url = support::shared_etcd().patient_url(support::unused_etcd_path());
  Watched watched(url);
  watched.let_pass(20s);
  etcd::Client client(etcd::parse_url(url).value(), nullptr);
  const std::string prefix = etcd::parse_url(url)->prefix;
  std::string end = prefix;
  ++end.back();
  EXPECT_THAT(watched.logged(), Not(HasSubstr("lost its state")));
  ASSERT_TRUE(client.run({.deletes = {{.key = prefix, .end = end}}}, net::Deadline::in(20s)).has_value());
  watched.expect_loss();
}

TEST(LostElsewhere, OfEtcdThatIsPutBackToAnOldSnapshot) {
  const std::string url = support::shared_etcd().patient_url(support::unused_etcd_path());
  ManualClock clock(Instant::from_unix_seconds(1'700'000'000));
  Watched watched(url, {.clock = &clock});
  watched.let_pass(20s);
  etcd::Client client(etcd::parse_url(url).value(), nullptr);
  const std::string prefix = etcd::parse_url(url)->prefix;
  std::string end = prefix;
  ++end.back();
  const auto then = client.run({.reads = {{.key = prefix, .end = end}}}, net::Deadline::in(20s)).value();
  clock.advance(5min);
  EXPECT_TRUE(watched.take("disk"));
  watched.let_pass(20s);
  EXPECT_THAT(watched.logged(), Not(HasSubstr("lost its state")));
  etcd::Txn txn{.deletes = {{.key = prefix, .end = end}}};
  ASSERT_TRUE(client.run(txn, net::Deadline::in(20s)).has_value());
  txn.deletes.clear();
  for (const etcd::KeyValue& pair : then.reads.at(0).found) txn.puts.push_back({pair.key, pair.value});
  ASSERT_TRUE(client.run(txn, net::Deadline::in(20s)).has_value());
  watched.let_pass(20s);
  watched.expect_loss();
}

}  // namespace
}  // namespace mete::store
