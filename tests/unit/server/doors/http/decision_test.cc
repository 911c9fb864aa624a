// take, check and hold: what a decision's status, headers and body say.
#include <gmock/gmock.h>

#include "unit/server/doors/http/http_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using HttpDecisions = testing::HttpFixture;
using testing::Answer;
using testing::Observed;

TEST_F(HttpDecisions, TellWhatIsLeft) {
  define(bucket("api").amount(10).per(1min));
  const Answer answer = send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"alice","cost":1}]})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body,
            R"({"allowed":true,"remaining":9,"limit":10,"retry_after_ms":0,"reset_after_ms":6000,"violated":[]})");
  EXPECT_EQ(answer.header("RateLimit-Policy"), R"("api";q=10;w=60)");
  EXPECT_EQ(answer.header("RateLimit"), R"("api";r=9;t=6)");
  EXPECT_EQ(answer.header("X-RateLimit-Limit"), "10");
  EXPECT_EQ(answer.header("X-RateLimit-Remaining"), "9");
  EXPECT_EQ(answer.header("X-RateLimit-Reset"), "1700000006");
  EXPECT_EQ(answer.header("Retry-After"), "(none)");
  EXPECT_EQ(answer.header("Cache-Control"), "no-store");
}

TEST_F(HttpDecisions, DenyWithTheWait) {
  define(bucket("api").amount(10).per(1min));
  clock.advance(1ns);  // so that the reset is not on a full second
  send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"alice","cost":8}]})");
  const Answer answer = send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"alice","cost":3}]})");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.content_type, "application/problem+json");
  EXPECT_EQ(
      answer.body,
      R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded",)"
      R"("status":429,"detail":"too little is left of \"api\"; retry after 6000 ms","violated-policies":["api"],)"
      R"("allowed":false,"remaining":2,"limit":10,"retry_after_ms":6000,"reset_after_ms":48000,"violated":["api"]})");
  EXPECT_EQ(answer.header("Retry-After"), "6");
  EXPECT_EQ(answer.header("RateLimit"), R"("api";r=2;t=48)");
  EXPECT_EQ(answer.header("X-RateLimit-Reset"), "1700000049") << "rounded up";

  clock.advance(5999ms);
  EXPECT_EQ(send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"alice","cost":3}]})").header("Retry-After"),
            "1")
      << "a millisecond is waited for as a second";
  clock.advance(1ms);
  EXPECT_EQ(send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"alice","cost":3}]})").status, 200);
}

TEST_F(HttpDecisions, SayThatNoWaitIsEnough) {
  define(bucket("api").amount(10).per(1min));
  const Answer answer = send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"alice","cost":11}]})");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.header("Retry-After"), "(none)");
  EXPECT_EQ(answer.member("retry_after_ms"), "-1");
  EXPECT_EQ(answer.member("detail"), R"("too little is left of \"api\"; no wait is enough")");
}

// A limit of each kind, and what its headers say after one unit was taken.
TEST_F(HttpDecisions, NameEveryKindOfPolicy) {
  const struct {
    Limit limit;
    std::string policy;
    std::string standing;
    std::string reset;
  } rows[] = {
      {bucket("a").amount(100).per(1min).burst(200), "\"a\";q=100;w=60", "\"a\";r=199;t=1", "1700000001"},
      {bucket("a").amount(1000).per(250ms), "\"a\";q=1000", "\"a\";r=999;t=1", "1700000001"},
      {window("a").amount(5).per(1h), "\"a\";q=5;w=3600", "\"a\";r=4;t=2800", "1700002800"},
      {sliding("a").amount(5).per(100s), "\"a\";q=5;w=100", "\"a\";r=4;t=100", "1700000100"},
      {calendar("a").amount(5).per(Unit::kHour), "\"a\";q=5;w=3600", "\"a\";r=4;t=2800", "1700002800"},
      {calendar("a").amount(5).per(Unit::kDay), "\"a\";q=5;w=86400", "\"a\";r=4;t=6400", "1700006400"},
      {calendar("a").amount(5).per(Unit::kWeek), "\"a\";q=5;w=604800", "\"a\";r=4;t=438400", "1700438400"},
      {calendar("a").amount(5).per(Unit::kMonth), "\"a\";q=5", "\"a\";r=4;t=1388800", "1701388800"},
      {calendar("a").amount(5).per(Unit::kYear), "\"a\";q=5", "\"a\";r=4;t=4067200", "1704067200"},
      {stock("a").amount(5), "\"a\";q=5", "\"a\";r=4", "(none)"},
      {stock("say \"hi\\\"").amount(5), R"("say \"hi\\\"";q=5)", R"("say \"hi\\\"";r=4)", "(none)"},
      {stock("größe").amount(5), "(none)", "(none)", "(none)"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.policy);
    define(row.limit);
    const Answer answer = send("GET", "/v1/check?key=k&limit=" + wire::percent_encode(row.limit.name()));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.header("RateLimit-Policy"), row.policy);
    EXPECT_EQ(answer.header("RateLimit"), row.standing);
    EXPECT_EQ(answer.header("X-RateLimit-Reset"), row.reset);
    ASSERT_TRUE(store.drop(row.limit.name()).value());
  }
}

TEST_F(HttpDecisions, TellOverriddenQuotas) {
  define(bucket("api").amount(100).per(1min).burst(250));
  define(window("sms").amount(5).per(1h));
  EXPECT_EQ(send("PUT", "/v1/limits/api/overrides/vip", R"({"amount":33})").status, 200);
  EXPECT_EQ(send("PUT", "/v1/limits/sms/overrides/vip", R"({"amount":7})").status, 200);
  EXPECT_EQ(send("GET", "/v1/check?limit=api&key=vip").header("RateLimit-Policy"), R"("api";q=33;w=60)");
  EXPECT_EQ(send("GET", "/v1/check?limit=sms&key=vip").header("RateLimit-Policy"), R"("sms";q=7;w=3600)");

  // A burst below the amount: the key's own one is rounded up by much.
  define(bucket("slow").amount(100).per(1min).burst(3));
  EXPECT_EQ(send("PUT", "/v1/limits/slow/overrides/vip", R"({"amount":50})").status, 200);
  EXPECT_EQ(send("GET", "/v1/check?limit=slow&key=vip").header("RateLimit-Policy"), R"("slow";q=50;w=60)");
  EXPECT_EQ(send("GET", "/v1/check?limit=slow&key=others").header("RateLimit-Policy"), R"("slow";q=100;w=60)");
}

// As the decision has them: a peek's tell what would be left, of one charge and of several alike.
TEST_F(HttpDecisions, TellOfSeveralChargesWhatTheDecisionTells) {
  define(stock("a").amount(10));
  define(stock("b").amount(100));
  const auto ask = [&](std::string_view charges, std::string_view rest) {
    return send("POST", "/v1/take", R"({"charges":[)" + std::string(charges) + "]" + std::string(rest) + "}")
        .header("RateLimit");
  };
  const std::string_view one = R"({"limit":"a","key":"k","cost":3})";
  const std::string_view both = R"({"limit":"a","key":"k","cost":3},{"limit":"b","key":"k","cost":3})";
  const std::string_view twice = R"({"limit":"a","key":"k","cost":3},{"limit":"a","key":"k","cost":2})";
  EXPECT_EQ(ask(one, R"(,"mode":"peek")"), R"("a";r=7)");
  EXPECT_EQ(ask(both, R"(,"mode":"peek")"), R"("a";r=7, "b";r=97)");
  EXPECT_EQ(ask(twice, R"(,"mode":"peek")"), R"("a";r=5, "a";r=5)");
  EXPECT_EQ(ask(both, R"(,"id":"op")"), R"("a";r=7, "b";r=97)");
  EXPECT_EQ(ask(both, ""), R"("a";r=4, "b";r=94)");
  EXPECT_EQ(ask(both, R"(,"id":"op")"), R"("a";r=4, "b";r=94)") << "told again: as they stand now";
  EXPECT_EQ(ask(both, R"(,"mode":"force")"), R"("a";r=1, "b";r=91)");
  EXPECT_EQ(ask(both, ""), R"("a";r=1, "b";r=91)") << "denied";
}

TEST_F(HttpDecisions, ListEveryCharge) {
  define(bucket("api").amount(10).per(1min));
  define(stock("storage").amount(100));
  define(stock("größe").amount(100));
  const std::string charges = R"({"limit":"api","key":"alice"},{"limit":"storage","key":"acme","cost":60},)"
                              R"({"limit":"größe","key":"x"})";
  const Answer allowed = send("POST", "/v1/take", R"({"charges":[)" + charges + "]}");
  EXPECT_EQ(allowed.status, 200) << allowed.body;
  EXPECT_EQ(allowed.header("RateLimit-Policy"), R"("api";q=10;w=60, "storage";q=100)");
  EXPECT_EQ(allowed.header("RateLimit"), R"("api";r=9;t=6, "storage";r=40)");
  EXPECT_EQ(allowed.header("X-RateLimit-Limit"), "10") << "the tightest";
  EXPECT_EQ(allowed.header("X-RateLimit-Remaining"), "9");

  const Answer denied = send("POST", "/v1/take", R"({"charges":[)" + charges + "]}");
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(denied.member("violated"), R"(["storage"])");
  EXPECT_EQ(denied.member("violated-policies"), R"(["storage"])");
  EXPECT_EQ(denied.header("RateLimit"), R"("api";r=9;t=6, "storage";r=40)") << "nothing was taken";
}

TEST_F(HttpDecisions, HaveModes) {
  define(bucket("api").amount(10).per(1min));
  const auto take = [&](const std::string& mode, int cost) {
    return send(
        "POST", "/v1/take",
        R"({"mode":")" + mode + R"(","charges":[{"limit":"api","key":"k","cost":)" + std::to_string(cost) + "}]}");
  };
  EXPECT_EQ(take("peek", 10).status, 200);
  EXPECT_EQ(take("peek", 11).status, 429);
  EXPECT_EQ(take("take", 4).member("remaining"), "6");
  EXPECT_EQ(take("take", 4).member("taken"), "(none)");
  const Answer some = take("up_to", 5);
  EXPECT_EQ(some.status, 200);
  EXPECT_EQ(some.member("taken"), "2");
  EXPECT_EQ(some.member("allowed"), "true");
  const Answer none = take("up_to", 5);
  EXPECT_EQ(none.status, 429);
  EXPECT_EQ(none.member("taken"), "0");
  EXPECT_EQ(none.member("allowed"), "false");
  EXPECT_EQ(none.header("Retry-After"), "6") << "for one unit";
  EXPECT_EQ(take("force", 5).status, 200);
  EXPECT_EQ(send("GET", "/v1/meters/api/k").member("used"), "15");
}

TEST_F(HttpDecisions, AreRepeatedByTheirId) {
  define(bucket("api").amount(10).per(1min));
  const std::string body = R"({"charges":[{"limit":"api","key":"k","cost":8}],"id":"op 1"})";
  const Answer first = send("POST", "/v1/take", body);
  EXPECT_EQ(send("POST", "/v1/take", body).body, first.body);
  EXPECT_EQ(send("GET", "/v1/meters/api/k").member("used"), "8");
  expect_problem(send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"k","cost":7}],"id":"op 1"})"), 409,
                 "op 1");
  EXPECT_EQ(send("POST", "/v1/take", R"({"charges":[{"limit":"api","key":"k","cost":7}],"id":"op 1"})").member("code"),
            "\"MISMATCH\"");
}

TEST_F(HttpDecisions, AllowPastAShadowAndNameIt) {
  define(stock("trial").amount(1).shadow());
  const Answer answer = send("POST", "/v1/take", R"({"charges":[{"limit":"trial","key":"k","cost":2}]})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.member("violated"), R"(["trial"])");
}

TEST_F(HttpDecisions, CheckHasNoBody) {
  define(bucket("api").amount(2).per(1min));
  for (const int status : {200, 200, 429}) {
    const Answer answer = send("GET", "/v1/check?limit=api&key=alice");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.content_type, "");
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.header("Retry-After"), status == 429 ? "30" : "(none)");
  }
  EXPECT_EQ(send("GET", "/v1/check?limit=api&key=bob&cost=3").status, 429);
  EXPECT_EQ(send("GET", "/v1/check?limit=api&key=alice&cost=0").status, 400);
  EXPECT_EQ(send("GET", "/v1/check?limit=api&key=a+b%2Bc&cost=2").status, 200);
  EXPECT_EQ(send("GET", "/v1/meters/api/a%20b+c").member("used"), "2");
  EXPECT_EQ(send("HEAD", "/v1/check?limit=api&key=carol").status, 200);
}

// What a client has put into the path that a proxy writes behind raw_key=, or below /v1/check/, is the key or nothing.
TEST_F(HttpDecisions, ACheckIsNotSteeredByItsKey) {
  define(stock("api").amount(100));
  define(stock("other").amount(100));
  const auto used = [&](const std::string& limit, const std::string& key) {
    return send("GET", "/v1/meters/" + limit + "/" + wire::percent_encode(key)).member("used");
  };
  const std::string fragments[] = {
      "/x",
      "/x&cost=0",
      "/x&cost=1",
      "/x&limit=other",
      "/x&key=victim",
      "/x&limit=api&key=victim",
      "/x&limit=other&key=victim",
      "/x&limit=api&cost=5&key=victim",
      "/x&limit=api&cost=5&raw_key=victim",
      "/x?limit=api&key=victim&%26+%zz%00%",
      "&raw_key=victim",
  };
  for (const std::string& fragment : fragments) {
    EXPECT_EQ(send("GET", "/v1/check?limit=api&cost=5&raw_key=" + fragment).status, 200) << fragment;
    EXPECT_EQ(used("api", fragment), "5") << fragment;
    EXPECT_EQ(send("GET", "/v1/check?limit=other&key=fixed&limit=api&raw_key=" + fragment).status, 200) << fragment;
    EXPECT_EQ(used("api", fragment), "6") << fragment;
    const std::string headers = "Mete-Limit: api\r\nMete-Key: header\r\n";
    EXPECT_EQ(send("DELETE", "/v1/check/" + fragment + "?limit=api&key=victim", "", headers).status, 200) << fragment;
    EXPECT_EQ(send("GET", "/v1/check?limit=api", "", "Mete-Key: " + fragment + "\r\n").status, 200);
    EXPECT_EQ(used("api", fragment), "7") << fragment;
  }
  EXPECT_EQ(used("api", "victim"), "0");
  EXPECT_EQ(used("other", "victim"), "0");
  EXPECT_EQ(used("other", "fixed"), std::to_string(std::size(fragments)));
  EXPECT_EQ(used("api", "header"), std::to_string(std::size(fragments)));
  EXPECT_EQ(send("GET", "/v1/checks/x", "").status, 404);
  EXPECT_EQ(send("GET", "/v1/check?limit=api&raw_key=").status, 400);
  EXPECT_EQ(send("GET", "/v1/check?limit=api&raw%5Fkey=x").status, 400);
}

// Where the first group says its cost before its key, all do: a key that is written last makes no group by half.
TEST_F(HttpDecisions, ACheckHasNoGroupByHalf) {
  define(stock("a").amount(100));
  define(stock("b").amount(100));
  EXPECT_EQ(send("GET", "/v1/check?limit=a&key=x&limit=b&key=y&cost=2").status, 200);
  EXPECT_EQ(send("GET", "/v1/check?limit=a&key=x&cost=2&limit=b&key=y").status, 200);
  EXPECT_EQ(send("GET", "/v1/check?limit=a&cost=2&key=x&limit=b&cost=3&key=y").status, 200);
  EXPECT_EQ(send("GET", "/v1/meters/a/x").member("used"), "5");
  EXPECT_EQ(send("GET", "/v1/meters/b/y").member("used"), "6");
  for (const char* const injected :
       {"&limit=b&key=y", "&limit=a&key=y", "&limit=b&key=y&cost=1", "&limit=b&raw_key=y"}) {
    const Answer answer = send("GET", std::string("/v1/check?limit=a&cost=5&key=/x") + injected);
    EXPECT_EQ(answer.status, 400) << injected;
    EXPECT_THAT(answer.body, ::testing::HasSubstr("a cost before its key")) << injected;
  }
  EXPECT_EQ(send("GET", "/v1/meters/b/y").member("used"), "6");
  EXPECT_EQ(send("GET", "/v1/check?limit=a&limit=b", "", "Mete-Key: z\r\n").status, 200);
  EXPECT_EQ(send("GET", "/v1/meters/b/z").member("used"), "1");
  EXPECT_EQ(send("GET", "/v1/check?limit=a&limit=b&key=x", "", "Mete-Key: z\r\n").status, 400);
  std::string many = "limit=a";
  for (int i = 0; i < 16; ++i) many += "&limit=a";
  EXPECT_EQ(send("GET", "/v1/check?" + many, "", "Mete-Key: z\r\n").status, 400);
}

TEST_F(HttpDecisions, AreObserved) {
  define(stock("a").amount(1));
  define(stock("b").amount(2));
  send("POST", "/v1/take", R"({"charges":[{"limit":"a","key":"k"},{"limit":"b","key":"k"}]})");
  send("POST", "/v1/take", R"({"charges":[{"limit":"b","key":"k"},{"limit":"a","key":"k"}]})");
  send("POST", "/v1/take", R"({"charges":[{"limit":"a","key":"k"}],"mode":"peek"})");
  send("GET", "/v1/check?limit=b&key=k");
  send("POST", "/v1/holds", R"({"charges":[{"limit":"a","key":"x"}],"ttl":1})");
  send("POST", "/v1/take", R"({"charges":[{"limit":"unknown","key":"k"}]})");
  const std::vector<Observed> expected = {
      {{"a", "b"}, true, 0}, {{"b", "a"}, false, 2}, {{"b"}, true, 0}, {{"a"}, true, 0}};
  EXPECT_EQ(observer.decisions, expected);
}

// An answer for each take in its place, whatever became of the others: plain ones, several charges, ids and modes.
TEST_F(HttpDecisions, AListOfTakesHasAListOfAnswers) {
  define(bucket("api").amount(10).per(1min));
  const Answer answer = send("POST", "/v1/takes", R"([
      {"charges":[{"limit":"api","key":"list","cost":4}]},
      {"charges":[{"limit":"none","key":"list"}]},
      {"charges":[{"limit":"api","key":"list","cost":7}]},
      {"charges":[{"limit":"api","key":"list"},{"limit":"api","key":"other"}],"id":"both"},
      {"charges":[{"limit":"api","key":"list"},{"limit":"api","key":"other"}],"id":"both"},
      {"charges":[{"limit":"api","key":"list","cost":9}],"mode":"up_to"},
      {"charges":[{"limit":"api","key":"list","cost":-1}]},
      {"charges":[{"limit":"api","key":"list"}],"id":""},
      {"charges":[{"limit":"api","key":"third"}],"mode":"peek"}])");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"([{"allowed":true,"remaining":6,"limit":10,"retry_after_ms":0,"reset_after_ms":24000,"violated":[]},)"
      R"({"type":"about:blank","title":"Not Found","status":404,"detail":"unknown limit 'none'","code":"NOLIMIT"},)"
      R"({"allowed":false,"remaining":6,"limit":10,"retry_after_ms":6000,"reset_after_ms":24000,"violated":["api"]},)"
      R"({"allowed":true,"remaining":5,"limit":10,"retry_after_ms":0,"reset_after_ms":30000,"violated":[]},)"
      R"({"allowed":true,"remaining":5,"limit":10,"retry_after_ms":0,"reset_after_ms":30000,"violated":[]},)"
      R"({"allowed":true,"remaining":0,"limit":10,"retry_after_ms":0,"reset_after_ms":60000,"taken":5,"violated":[]},)"
      R"({"type":"about:blank","title":"Bad Request","status":400,)"
      R"("detail":"cost of 'api' must be 0 to 9007199254740991, not -1","code":"ERR"},)"
      R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"id must not be empty: leave it out","code":"ERR"},)"
      R"({"allowed":true,"remaining":9,"limit":10,"retry_after_ms":0,"reset_after_ms":6000,"violated":[]}])");
}

TEST_F(HttpDecisions, AListOfTakesHasItsBounds) {
  define(bucket("api").amount(10).per(1min));
  const auto list = [](std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
      text += std::string(i == 0 ? "" : ",") + R"({"charges":[{"limit":"api","key":"bounds","cost":1}],"mode":"take"})";
    }
    return text + "]";
  };
  EXPECT_EQ(send("POST", "/v1/takes", "[]").body, "[]");
  EXPECT_EQ(send("POST", "/v1/takes", list(kTakesMax)).status, 200);
  const Answer too_many = send("POST", "/v1/takes", list(kTakesMax + 1));
  EXPECT_EQ(too_many.status, 400);
  EXPECT_EQ(too_many.member("detail"), R"("takes: a call has at most 1000, not 1001")");
}

// What is not a list of takes is refused as a whole, and nothing of it happens.
TEST_F(HttpDecisions, ABadListOfTakesChangesNothing) {
  define(bucket("api").amount(10).per(1min));
  const struct {
    std::string body;
    std::string detail;
  } rows[] = {
      {"", "the body is missing: it must be a JSON array"},
      {R"({"charges":[{"limit":"api","key":"bad"}]})", "the body must be an array, not an object"},
      {R"([{"charges":[{"limit":"api","key":"bad"}]},7])", "[1] must be an object, not 7"},
      {R"([{"charges":[{"limit":"api","key":"bad"}]},{"charges":[{"limit":"api","key":"bad","cost":1.5}]}])",
       "[1].charges[0].cost must be an integer, not 1.5"},
      {R"([{"charges":[{"limit":"api","key":"bad"}]},{}])", "[1].charges is missing"},
      {R"([{"charges":[{"limit":"api","key":"bad"}],"wait":"1s"}])", R"(unknown field \"[0].wait\")"},
  };
  for (const auto& row : rows) {
    const Answer answer = send("POST", "/v1/takes", row.body);
    EXPECT_EQ(answer.status, 400) << row.body;
    EXPECT_EQ(answer.member("detail"), "\"" + row.detail + "\"");
  }
  EXPECT_EQ(send("GET", "/v1/meters/api/bad", "").member("used"), "0");
}

}  // namespace
}  // namespace mete::server
