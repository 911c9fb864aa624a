// What a peer may answer: each field of each reply in turn is text, a negative number, 2^63-1, 2^64, nothing, 1 MB or a
// list. Every operation then has an answer, or an error that names the peer; and the process lives.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/keys.h"
#include "store/open.h"
#include "unit/store/mete/fake_server.h"

namespace mete::store::servers {
namespace {

using namespace std::chrono_literals;

const std::string kBadFields[] = {"$4\r\ntext\r\n",
                                  ":-5\r\n",
                                  ":9223372036854775807\r\n",
                                  ":18446744073709551616\r\n",
                                  "$-1\r\n",
                                  "$0\r\n\r\n",
                                  "$1048576\r\n" + std::string(1 << 20, 'x') + "\r\n",
                                  "*1\r\n:1\r\n",
                                  "*-1\r\n"};

// Fields that are right for one operation or another, so that the reader comes to each.
const std::vector<std::vector<std::string>> kReplies = {
    {":1700000000000000000", ":1", ":0", ":1", ":9", ":10", ":0", ":0"},  // a verdict
    {":1700000000000000000", ":1", ":9", ":10"},                          // a settlement
    {":1700000000000000000", ":1", ":0", ":9", ":10", ":0"},              // a usage
    {":1700000000000000000", ":1", "$2\r\nid", ":0", ":5", ":5", "$0\r\n", ":1", "$3\r\napi", "$1\r\na",
     ":1"},                                                                          // a hold
    {":1700000000000000000", ":0", ":1", "$1\r\na", ":1", ":0", ":9", ":10", ":0"},  // a page
};

class ForeignRepliesTest : public ::testing::Test {
 protected:
  template <class Answer>
  void look_at(const Result<Answer>& answer) {
    ++answers_;
    if (answer.has_value() || answer.error().code != ErrorCode::kUnavailable) return;
    EXPECT_LT(answer.error().message.size(), 1000U);
    EXPECT_NE(answer.error().message.find("127.0.0.1"), std::string::npos) << answer.error().message;
  }

  void try_all(Store& store) {
    const Charge one[] = {{"api", "a", 1}};
    look_at(store.take({.charges = one}));
    look_at(store.hold({.charges = one, .ttl = 1h, .id = "id"}));
    look_at(store.run(core::Commit{"id"}));
    look_at(store.run(core::Extend{"id", 1h}));
    look_at(store.give(one, ""));
    look_at(store.usage({"api", "a"}));
    look_at(store.run(core::Reconcile{{"api", "a"}, 5}));
    look_at(store.run(core::FindHold{"id"}));
    look_at(store.run(core::OldestHolds{10}));
    look_at(store.run(core::ScanUsage{"api", 0, 10}));
    look_at(store.run(core::FindOverride{{"api", "a"}}));
    look_at(store.run(core::FindLimit{"api"}));
    look_at(store.drop("api"));
    look_at(store.keys().get("k"));
    look_at(store.keys().quota_get("k"));
  }

  FakeServer server_{""};
  std::unique_ptr<Store> store_ = open_store(server_.url(), {}).value();
  int answers_ = 0;
};

TEST_F(ForeignRepliesTest, EachFieldOfEachReply) {
  for (const std::vector<std::string>& fields : kReplies) {
    for (std::size_t bad_at = 0; bad_at < fields.size(); ++bad_at) {
      for (const std::string& bad : kBadFields) {
        std::string reply = "*" + std::to_string(fields.size()) + "\r\n";
        for (std::size_t i = 0; i < fields.size(); ++i) reply += i == bad_at ? bad : fields[i] + "\r\n";
        server_.set_answer(reply);
        SCOPED_TRACE("field " + std::to_string(bad_at) + " is " + bad.substr(0, 20));
        try_all(*store_);
      }
    }
  }
  EXPECT_GT(answers_, 1000);
}

}  // namespace
}  // namespace mete::store::servers
