// What others may write over the rows that Mete keeps in PostgreSQL: each column of each table in turn is set to text,
// a negative number, 2^63-1, nothing and 1 MB, and so is each field of a rule. Every operation then goes on, or ends
// with an error that names the record.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/postgres_store.h"
#include "support/long_form.h"
#include "support/postgres_server.h"

namespace mete::store::postgres {
namespace {

using namespace std::chrono_literals;
using support::PostgresServer;

constexpr std::size_t kMessageBytesMax = 1000;
const char* const kTables[] = {"limits", "revisions", "meters", "operations", "events"};
// As SQL; what a column does not take is left out.
const char* const kBadValues[] = {"'text'",
                                  "-5",
                                  "9223372036854775807",
                                  "null",
                                  "repeat('x', 1048576)",
                                  "true",
                                  "'{}'",
                                  "'{-5,text}'",
                                  "'{-5}'",
                                  "array[9223372036854775807, 9223372036854775807]",
                                  "array[null::bigint]",
                                  "array_fill(1::bigint, array[131072])"};

class PostgresForeignDataTest : public ::testing::Test {
 protected:
  PostgresForeignDataTest() {
    for (const std::string& limit : limits_) {
      const Limit definition = limit == "bucket"    ? bucket(limit).amount(10).per(1000 * 24h)
                               : limit == "sliding" ? sliding(limit).amount(10).per(1000 * 24h)
                                                    : stock(limit).amount(10);
      store_->define(definition).value();
      store_->set_override({limit, "bob"}, 3).value();
      for (const std::string_view key : {"alice", "bob"}) {
        const Charge charge = {limit, key, 3};
        EXPECT_TRUE(store_->take({.charges = {&charge, 1}, .id = "op " + limit + std::string(key)})->is_allowed);
      }
      const Charge held = {limit, "alice", 4};
      EXPECT_TRUE(store_->hold({.charges = {&held, 1}, .ttl = 24h, .id = "hold " + limit, .tag = "tag"})->is_allowed);
    }
    // Meters that have yet to be brought to a new revision.
    store_->define(bucket("bucket").amount(20).per(1000 * 24h)).value();
    server_.query(R"sql(
      drop schema if exists saved cascade; create schema saved;
      do $$ declare c record; begin
        for c in select conrelid::regclass as place, conname from pg_constraint
                 where connamespace = 'mete'::regnamespace and contype = 'c' and conrelid <> 0 loop
          execute format('alter table %s drop constraint %I', c.place, c.conname);
        end loop;
        for c in select attrelid::regclass as place, attname from pg_attribute a join pg_class k on k.oid = attrelid
                 where relnamespace = 'mete'::regnamespace and relkind in ('r', 'p') and not relispartition and
                   attnum > 0 and attnotnull and attidentity = '' and not attisdropped and
                   not exists (select from pg_index i where i.indrelid = k.oid and i.indisprimary and
                               attnum = any (i.indkey)) loop
          execute format('alter table %s alter column %I drop not null', c.place, c.attname);
        end loop;
      end $$)sql");
    for (const std::string table : kTables) server_.query("create table saved." + table + " as table mete." + table);
  }
  ~PostgresForeignDataTest() override {
    store_.reset();
    server_.query("drop schema saved cascade; drop schema mete cascade");
    server_.install_schema();  // with its constraints, for the tests that follow
  }

  // Columns that can be written; of a rule each field.
  std::vector<std::string> columns_of(const std::string& table) {
    std::vector<std::string> columns;
    for (const auto& row :
         server_.query("select quote_ident(attname) from pg_attribute where attrelid = 'mete." + table +
                       "'::regclass and attnum > 0 and not attisdropped and "
                       "attgenerated = '' and attidentity = '' order by attnum")) {
      if (row[0] != "rule") {
        columns.push_back(row[0]);
        continue;
      }
      for (const char* const field : {"kind", "amount", "capacity", "period_us", "unit", "zone", "anchor"}) {
        columns.push_back(std::string("rule.") + field);
      }
    }
    return columns;
  }

  void restore(const std::string& table) {
    std::string names;
    for (const auto& row :
         server_.query("select quote_ident(attname) from pg_attribute where attrelid = 'mete." + table +
                       "'::regclass and attnum > 0 and not attisdropped and attgenerated = ''")) {
      names += (names.empty() ? "" : ", ") + row[0];
    }
    server_.query("delete from mete." + table + "; insert into mete." + table + " (" + names +
                  ") overriding system value select " + names + " from saved." + table);
  }

  template <class Answer>
  void look_at(const Result<Answer>& answer, const std::string& record) {
    if (answer.has_value() || answer.error().code != ErrorCode::kUnavailable) return;
    ++errors_;
    const std::string& message = answer.error().message;
    EXPECT_NE(message.find(record), std::string::npos) << message;
    EXPECT_LT(message.size(), kMessageBytesMax);
  }

  void try_limit(const std::string& limit) {
    Store& store = *store_;
    for (const std::string_view key : {"alice", "bob"}) {
      const Charge one[] = {{limit, key, 1}};
      const Charge two[] = {{limit, key, 1}, {limit, "dan", 1}};
      look_at(store.take({.charges = one}), limit);
      look_at(store.take({.charges = one, .mode = Mode::kPeek}), limit);
      look_at(store.take({.charges = one, .mode = Mode::kUpTo}), limit);
      look_at(store.take({.charges = one, .mode = Mode::kForce}), limit);
      look_at(store.take({.charges = one, .id = "new"}), limit);
      look_at(store.take({.charges = two}), limit);
      look_at(store.hold({.charges = one, .ttl = 1h, .id = "new hold"}), limit);
      std::vector<Result<core::Verdict>> answers(2);
      store.take_each(two, answers);
      look_at(answers[0], limit);
      look_at(store.usage({limit, key}), limit);
      look_at(store.run(core::ListHolds{{limit, key}, 10}), limit);
      look_at(store.run(core::FindOverride{{limit, key}}), limit);
      look_at(store.run(core::Reconcile{{limit, key}, 5}), limit);
      look_at(store.give(one, ""), limit);
      look_at(store.set_override({limit, key}, 4), limit);
    }
    look_at(store.run(core::ScanUsage{limit, 0, 100}), limit);
    Shift shifts[] = {{"alice", 1}, {"bob", -1}};
    std::vector<Result<Shifted>> shifted(2);
    look_at(store.run(core::ShiftUsage{limit, {}, shifts, shifted}), limit);
    for (const auto& each : shifted) look_at(each, limit);
    const std::string hold = "hold " + limit;
    look_at(store.run(core::FindHold{hold}), hold);
    look_at(store.run(core::Extend{hold, 48h}), hold);
    look_at(store.run(core::Commit{hold}), hold);
    look_at(store.run(core::Cancel{hold}), hold);
    look_at(store.run(core::FindLimit{limit}), limit);
    look_at(store.define(stock(limit).amount(20)), limit);
  }

  // Each column with each value, then everything that uses it.
  void try_table(const std::string& table) {
    for (const std::string& column : columns_of(table)) {
      for (const std::string bad : support::cases_in_turn(kBadValues, 5, turn_)) {
        const std::string change = column + " = " + bad;
        SCOPED_TRACE(table + ": " + change);
        try {
          server_.query("update mete." + table + " set " + change);
        } catch (const std::exception&) {
          continue;  // the column's type keeps it out
        }
        ++changes_;
        for (const std::string& limit : limits_) try_limit(limit);
        look_at(store_->run(core::ListTagged{"tag"}), "");
        look_at(store_->run(core::OldestHolds{10}), "hold");
        look_at(store_->run(core::ListLimits{}), "mete.limits");
        look_at(PostgresStore::open(server_.patient_url(), {}), "mete.limits");
        for (const std::string each : kTables) restore(each);
        EXPECT_TRUE(store_->limits().has_value());
      }
    }
    EXPECT_GT(changes_, 0);
  }

  int changes_ = 0;
  std::size_t turn_ = support::first_turn();
  int errors_ = 0;
  const std::vector<std::string> limits_ = {"bucket", "sliding", "stock"};
  PostgresServer& server_ = support::running_postgres();
  std::unique_ptr<Store> store_ = PostgresStore::open(server_.patient_url(), {}).value();
};

TEST_F(PostgresForeignDataTest, ALimit) {
  try_table("limits");
  EXPECT_GT(errors_, 0);
}

TEST_F(PostgresForeignDataTest, ARevision) {
  try_table("revisions");
  EXPECT_GT(errors_, 0);
}

TEST_F(PostgresForeignDataTest, AMeter) {
  try_table("meters");
  EXPECT_GT(errors_, 0);
}

TEST_F(PostgresForeignDataTest, AnOperation) {
  try_table("operations");
  EXPECT_GT(errors_, 0);
}

TEST_F(PostgresForeignDataTest, AnEvent) { try_table("events"); }

TEST_F(PostgresForeignDataTest, PsqlIsToldWhichRow) {
  const auto refusal = [this](const std::string& damage) {
    server_.query(damage);
    try {
      server_.query("select mete.take('bucket', 'alice')");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_NE(refusal("update mete.limits set period_us = -5").find("the row of limit 'bucket' in mete.limits"),
            std::string::npos);
  for (const std::string each : kTables) restore(each);
  EXPECT_NE(refusal("update mete.meters set settled_us = 9223372036854775807")
                .find("the row of limit 'bucket', key 'alice' in mete.meters"),
            std::string::npos);
}

}  // namespace
}  // namespace mete::store::postgres
