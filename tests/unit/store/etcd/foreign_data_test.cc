// What others may write over the keys that Mete keeps in etcd: each byte of each value in turn is made another one or a
// number of 2^64 and more, each value is cut off after each byte, and set to text, to nothing and to 1 MB. Every
// operation then goes on, or ends with an error that names a key; and the process lives.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/entry.h"
#include "store/etcd/etcd_store.h"
#include "support/etcd_server.h"
#include "support/long_form.h"

namespace mete::store::etcd {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMessageBytesMax = 1000;

class EtcdForeignDataTest : public ::testing::Test {
 protected:
  EtcdForeignDataTest() {
    for (const std::string& limit : limits_) {
      const Limit definition = limit == "sliding" ? sliding(limit).amount(10).per(1000 * 24h) : stock(limit).amount(10);
      store_->define(definition).value();
      store_->set_override({limit, "alice"}, 12).value();
      const Charge charge = {limit, "alice", 3};
      EXPECT_TRUE(store_->take({.charges = {&charge, 1}, .id = "op " + limit})->is_allowed);
      EXPECT_TRUE(store_->hold({.charges = {&charge, 1}, .ttl = 24h, .id = "hold " + limit, .tag = "tag"})->is_allowed);
    }
    EXPECT_TRUE(store_->keys().set({.key = "hits", .value = 5, .expiry = Expiry::in(24h)}).has_value());
    const auto all = run({.reads = {{.key = prefix_, .end = end_of(prefix_)}}});
    for (const KeyValue& pair : all.reads.at(0).found) pairs_.push_back(pair);
  }

  static std::string end_of(std::string prefix) {
    ++prefix.back();
    return prefix;
  }
  TxnAnswer run(const Txn& txn) { return client_.run(txn, net::Deadline::in(20s)).value(); }
  void put(const std::string& key, const std::string& value) { run({.puts = {{key, value}}}); }
  void restore() {
    const std::string end = end_of(prefix_);
    Txn txn{.deletes = {{.key = prefix_, .end = end}}};
    run(txn);
    txn.deletes.clear();
    for (const KeyValue& pair : pairs_) txn.puts.push_back({pair.key, pair.value});
    run(txn);
  }

  template <class Answer>
  void look_at(const Result<Answer>& answer) {
    if (answer.has_value()) return;
    const Error& error = answer.error();
    if (error.code != ErrorCode::kUnavailable && error.code != ErrorCode::kInvalid) return;
    ++errors_;
    EXPECT_NE(error.message.find("etcd"), std::string::npos) << error.message.substr(0, 300);
    EXPECT_NE(error.message.find("key"), std::string::npos) << error.message.substr(0, 300);
    EXPECT_LT(error.message.size(), kMessageBytesMax);
  }

  void try_limit(Store& store, const std::string& limit) {
    const Charge one[] = {{limit, "alice", 1}};
    const Charge again[] = {{limit, "alice", 3}};
    look_at(store.take({.charges = one}));
    look_at(store.take({.charges = one, .mode = Mode::kPeek}));
    look_at(store.take({.charges = again, .id = "op " + limit}));
    look_at(store.hold({.charges = again, .ttl = 24h, .id = "hold " + limit, .tag = "tag"}));
    look_at(store.usage({limit, "alice"}));
    look_at(store.run(core::ScanUsage{limit, 0, 100}));
    look_at(store.run(core::FindHold{"hold " + limit}));
    look_at(store.run(core::Extend{"hold " + limit, 48h}));
    look_at(store.run(core::Commit{"hold " + limit}));
    look_at(store.run(core::Cancel{"hold " + limit}));
    look_at(store.give(one, ""));
    look_at(store.run(core::Reconcile{{limit, "alice"}, 5}));
    look_at(store.set_override({limit, "alice"}, 4));
    look_at(store.define(stock(limit).amount(20)));
  }

  void try_all(const KeyValue& pair, const std::string& changed) {
    put(pair.key, changed);
    for (const std::string& limit : limits_) {
      if (pair.key.find(limit) != std::string::npos) try_limit(*store_, limit);
    }
    if (pair.key.find("hits") != std::string::npos) {
      look_at(store_->keys().get("hits"));
      look_at(store_->keys().add("hits", 1));
      look_at(store_->keys().scan(0, 100));
    }
    look_at(store_->run(core::ListTagged{"tag"}));
    look_at(store_->run(core::OldestHolds{10}));
    look_at(store_->run(core::ListLimits{}));
    restore();
  }

  const std::vector<std::string> limits_ = {"sliding", "stock"};
  const std::string url_ = support::shared_etcd().patient_url(support::unused_etcd_path());
  const std::string prefix_ = parse_url(url_)->prefix;
  Client client_{parse_url(url_).value(), nullptr};
  std::unique_ptr<Store> store_ = EtcdStore::open(url_, {}).value();
  std::vector<KeyValue> pairs_;
  int errors_ = 0;
};

TEST_F(EtcdForeignDataTest, EachKey) {
  for (const KeyValue& pair : pairs_) {
    for (const std::string& value : {std::string("text"), std::string(), std::string(1 << 20, 'x')}) {
      SCOPED_TRACE(pair.key + " set to '" + value.substr(0, 30) + "'");
      try_all(pair, value);
    }
  }
  EXPECT_GT(errors_, 0);
}

TEST_F(EtcdForeignDataTest, EachField) {
  const std::string large(9, '\xff');
  std::size_t turn = support::first_turn();
  for (const KeyValue& pair : pairs_) {
    for (std::size_t at = 0; at < pair.value.size(); ++at) {
      const std::string before = pair.value.substr(0, at);
      const std::string after = pair.value.substr(at + 1);
      const std::string changes[] = {before, before + '\x7f' + after, before + large + '\x01' + after};
      for (const std::string& changed : support::cases_in_turn(changes, 1, turn)) {
        SCOPED_TRACE(pair.key + " changed at byte " + std::to_string(at));
        try_all(pair, changed);
      }
    }
  }
  EXPECT_GT(errors_, 0);
}

}  // namespace
}  // namespace mete::store::etcd
