// Every route: what it does, and what it answers to.
#include "server/doors/http/schemas.h"
#include "support/waiting.h"
#include "unit/server/doors/http/http_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using HttpRoutes = testing::HttpFixture;
using testing::Answer;

// A story: each row is a request and its answer, in the order in which they are sent.
TEST_F(HttpRoutes, TellAWholeStory) {
  const struct {
    std::string method;
    std::string target;
    std::string body;
    int status;
    std::string answer;
  } rows[] = {
      {"GET", "/v1/limits", "", 200, R"({"limits":[]})"},
      {"PUT", "/v1/limits/api", R"({"kind":"bucket","amount":100,"period":"1m","burst":200})", 201,
       R"({"name":"api","kind":"bucket","amount":100,"period":"1m","burst":200})"},
      {"PUT", "/v1/limits/api", R"({"kind":"bucket","amount":10,"period":60,"name":"api","shadow":false})", 200,
       R"({"name":"api","kind":"bucket","amount":10,"period":"1m"})"},
      {"PUT", "/v1/limits/links",
       R"({"kind":"calendar","amount":20,"period":"month","zone":"Europe/Berlin","anchor":15})", 201,
       R"({"name":"links","kind":"calendar","amount":20,"period":"month","zone":"Europe/Berlin","anchor":15})"},
      {"PUT", "/v1/limits/a%2Fb", R"({"kind":"stock","amount":9007199254740991,"shadow":true})", 201,
       R"({"name":"a/b","kind":"stock","amount":9007199254740991,"shadow":true})"},
      {"PUT", "/v1/limits/credits", R"({"kind":"stock","amount":100})", 201,
       R"({"name":"credits","kind":"stock","amount":100})"},
      {"GET", "/v1/limits", "", 200, R"({"limits":["a/b","api","credits","links"]})"},
      {"GET", "/v1/limits/a%2fb", "", 200, R"({"name":"a/b","kind":"stock","amount":9007199254740991,"shadow":true})"},
      {"DELETE", "/v1/limits/a%2Fb", "", 204, ""},

      {"POST", "/v1/give", R"({"charges":[{"limit":"credits","key":"k"}]})", 200,
       R"({"returned":0,"remaining":100,"limit":100})"},
      {"PUT", "/v1/meters/credits/k", R"({"used":30})", 200, R"({"used_before":0,"used_now":30})"},
      {"POST", "/v1/give", R"({"charges":[{"limit":"credits","key":"k","cost":10}],"id":"g"})", 200,
       R"({"returned":10,"remaining":80,"limit":100})"},
      {"POST", "/v1/give", R"({"charges":[{"limit":"credits","key":"k","cost":10}],"id":"g"})", 200,
       R"({"returned":10,"remaining":80,"limit":100})"},
      {"GET", "/v1/meters/credits/k", "", 200,
       R"({"used":20,"held":0,"remaining":80,"limit":100,"reset_after_ms":-1})"},

      {"PUT", "/v1/limits/credits/overrides/k", R"({"amount":50})", 200, R"({"amount":50})"},
      {"GET", "/v1/meters/credits/k", "", 200, R"({"used":20,"held":0,"remaining":30,"limit":50,"reset_after_ms":-1})"},
      {"DELETE", "/v1/limits/credits/overrides/k", "", 204, ""},

      {"POST", "/v1/holds",
       R"({"charges":[{"limit":"credits","key":"k","cost":10}],"ttl":"1h","id":"h 1","tag":"job 7"})", 201,
       R"({"id":"h 1","allowed":true,"remaining":70,"limit":100,"retry_after_ms":0,"reset_after_ms":-1,"violated":[]})"},
      {"GET", "/v1/holds/h%201", "", 200,
       R"({"id":"h 1","state":"held","expires_in_ms":3600000,"tag":"job 7","charges":[{"limit":"credits","key":"k","amount":10}]})"},
      {"GET", "/v1/holds?limit=credits&key=k", "", 200, R"({"holds":["h 1"]})"},
      {"GET", "/v1/holds?tag=job+7", "", 200, R"({"holds":["h 1"]})"},
      {"GET", "/v1/holds?tag=none", "", 200, R"({"holds":[]})"},
      {"GET", "/v1/meters/credits/k", "", 200,
       R"({"used":20,"held":10,"remaining":70,"limit":100,"reset_after_ms":-1})"},
      {"POST", "/v1/holds/h%201/extend", R"({"ttl":7200})", 200, R"({"expires_in_ms":7200000})"},
      {"POST", "/v1/holds/h%201/commit", R"({"amounts":[7]})", 200, R"({"committed":7,"remaining":73,"limit":100})"},
      {"GET", "/v1/holds/h%201", "", 200,
       R"({"id":"h 1","state":"committed","expires_in_ms":0,"tag":"job 7","charges":[{"limit":"credits","key":"k","amount":7}]})"},

      {"POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k","cost":3}],"ttl":1,"id":"h2"})", 201,
       R"({"id":"h2","allowed":true,"remaining":70,"limit":100,"retry_after_ms":0,"reset_after_ms":-1,"violated":[]})"},
      {"POST", "/v1/holds/h2/commit", R"({"amounts":[5],"overage":true})", 200,
       R"({"committed":5,"remaining":68,"limit":100})"},
      {"POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k","cost":3}],"ttl":1,"id":"h3"})", 201,
       R"({"id":"h3","allowed":true,"remaining":65,"limit":100,"retry_after_ms":0,"reset_after_ms":-1,"violated":[]})"},
      {"POST", "/v1/holds/h3/commit", "", 200, R"({"committed":3,"remaining":65,"limit":100})"},
      {"POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k","cost":3}],"ttl":1,"id":"h4"})", 201,
       R"({"id":"h4","allowed":true,"remaining":62,"limit":100,"retry_after_ms":0,"reset_after_ms":-1,"violated":[]})"},
      {"POST", "/v1/holds/h4/cancel", "{}", 200, R"({"returned":3,"remaining":65,"limit":100})"},

      {"GET", "/healthz", "", 200, R"({"status":"ok"})"},
      {"GET", "/readyz", "", 200, R"({"status":"ready"})"},
      {"GET", "/metrics", "", 200, "mete_up 1\n"},
  };
  for (const auto& row : rows) {
    const Answer answer = send(row.method, row.target, row.body);
    EXPECT_EQ(answer.status, row.status) << row.method << " " << row.target << ": " << answer.body;
    EXPECT_EQ(answer.body, row.answer) << row.method << " " << row.target;
  }
}

TEST_F(HttpRoutes, RandomHoldIdsCanBeUsed) {
  define(stock("credits").amount(10));
  const Answer held = send("POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k","cost":10}],"ttl":"1m"})");
  ASSERT_EQ(held.status, 201);
  const std::string id = held.member("id").substr(1, 32);
  EXPECT_EQ(held.header("Location"), "/v1/holds/" + id);
  EXPECT_EQ(held.header("X-RateLimit-Remaining"), "0");
  EXPECT_EQ(send("GET", held.header("Location")).member("state"), "\"held\"");
  const Answer denied = send("POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k"}],"ttl":"1m"})");
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(denied.header("Location"), "(none)");
  EXPECT_EQ(denied.header("Retry-After"), "60") << "when the hold expires";
  clock.advance(1min);
  expect_problem(send("POST", "/v1/holds/" + id + "/commit"), 410, "expired");
  EXPECT_EQ(send("POST", "/v1/holds/" + id + "/cancel").member("code"), "\"EXPIRED\"");
  EXPECT_EQ(send("POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k"}],"ttl":"1m","id":"ä/b"})")
                .header("Location"),
            "/v1/holds/%C3%A4%2Fb");
}

TEST_F(HttpRoutes, ListsAsManyHoldsAsAsked) {
  define(stock("credits").amount(10));
  for (const std::string id : {"a", "b", "c"}) {
    send("POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k"}],"ttl":"1m","id":")" + id + "\"}");
    clock.advance(1s);
  }
  EXPECT_EQ(send("GET", "/v1/holds?limit=credits&key=k&count=2").body, R"({"holds":["a","b"]})");
}

TEST_F(HttpRoutes, RefuseWithTheRightStatus) {
  define(stock("credits").amount(10));
  send("POST", "/v1/holds", R"({"charges":[{"limit":"credits","key":"k","cost":5}],"ttl":60,"id":"h"})");
  const std::string charge = R"("charges":[{"limit":"credits","key":"k"}])";
  const struct {
    std::string method;
    std::string target;
    std::string body;
    int status;
    std::string detail;
  } rows[] = {
      // Paths and methods.
      {"GET", "/", "", 404, "/openapi.json"},
      {"GET", "/v1", "", 404, "/openapi.json"},
      {"GET", "/v1/limits/", "", 404, "/openapi.json"},
      {"GET", "//v1/limits", "", 404, "/openapi.json"},
      {"GET", "/v1/meters/credits", "", 404, "/openapi.json"},
      {"GET", "/v1/meters//k", "", 404, "/openapi.json"},
      {"GET", "/v1/meters/credits/k/x", "", 404, "/openapi.json"},
      {"GET", "/V1/limits", "", 404, "/openapi.json"},
      {"GET", "/v1/limits/../limits", "", 404, "/openapi.json"},
      {"GET", "/v1/take", "", 405, "POST"},
      {"take", "/v1/take", "", 405, "POST"},
      {"POST", "/v1/limits/x", "{}", 405, "GET, HEAD, PUT, DELETE"},
      {"OPTIONS", "/v1/limits", "", 405, "GET, HEAD"},
      {"OPTIONS", "*", "", 400, "does not start with '/'"},

      // Unknown things.
      {"GET", "/v1/limits/x", "", 404, "unknown limit"},
      {"DELETE", "/v1/limits/x", "", 404, "unknown limit"},
      {"GET", "/v1/meters/x/k", "", 404, "unknown limit"},
      {"PUT", "/v1/meters/x/k", R"({"used":1})", 404, "unknown limit"},
      {"PUT", "/v1/limits/x/overrides/k", R"({"amount":1})", 404, "unknown limit"},
      {"DELETE", "/v1/limits/x/overrides/k", "", 404, "unknown limit"},
      {"GET", "/v1/check?limit=x&key=k", "", 404, "unknown limit"},
      {"GET", "/v1/holds?limit=x&key=k", "", 404, "unknown limit"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"x","key":"k"}]})", 404, "unknown limit"},
      {"POST", "/v1/give", R"({"charges":[{"limit":"x","key":"k"}]})", 404, "unknown limit"},
      {"POST", "/v1/holds", R"({"charges":[{"limit":"x","key":"k"}],"ttl":1})", 404, "unknown limit"},
      {"GET", "/v1/holds/x", "", 404, "no hold"},
      {"POST", "/v1/holds/x/commit", "", 404, "no hold"},
      {"POST", "/v1/holds/x/cancel", "", 404, "no hold"},
      {"POST", "/v1/holds/x/extend", R"({"ttl":1})", 404, "no hold"},

      // Paths and queries that are no text.
      {"GET", "/v1/meters/credits/%00", "", 400, "%00"},
      {"GET", "/v1/meters/credits/a%C0%80", "", 400, "not UTF-8"},
      {"GET", "/v1/meters/credits/%f", "", 400, "not an escape"},
      {"GET", "/v1/check?limit=credits&key=%00", "", 400, "%00"},
      {"GET", "/v1/check?limit=credits&key=%C0%80", "", 400, "not UTF-8"},
      {"GET", "/v1/check?limit=credits&key=%zz", "", 400, "not an escape"},
      {"GET", "/v1/check?limit=credits&key=k&key=k", "", 400, "limit is missing"},
      {"GET", "/v1/check?limit=credits&key=k&costs=1", "", 400, "unknown parameter \\\"costs\\\""},
      {"GET", "/v1/check?limit=credits", "", 400, "key is missing"},
      {"GET", "/v1/check?key=k", "", 400, "limit is missing"},
      {"GET", "/v1/check?limit=credits&key=", "", 400, "key must have 1 to 512 bytes"},
      {"GET", "/v1/check?limit=credits&key=k&cost=1.5", "", 400, "cost must be an integer"},
      {"GET", "/v1/check?limit=credits&key=k&cost=", "", 400, "cost must be an integer"},
      {"GET", "/v1/check?limit=credits&key=k&cost=-1", "", 400, "cost must be an integer from 1"},
      {"GET", "/v1/limits?x=1", "", 400, "unknown parameter"},
      {"GET", "/v1/holds", "", 400, "either limit and key, or tag"},
      {"GET", "/v1/holds?limit=credits", "", 400, "either limit and key, or tag"},
      {"GET", "/v1/holds?tag=t&key=k", "", 400, "tag stands alone"},
      {"GET", "/v1/holds?tag=", "", 400, "tag must not be empty"},
      {"GET", "/v1/holds?limit=credits&key=k&count=0", "", 400, "count must be 1 to 1000"},
      {"GET", "/v1/holds?limit=credits&key=k&count=x", "", 400, "count must be 1 to 1000"},

      // Bodies.
      {"GET", "/v1/limits", "{}", 400, "GET takes no body here"},
      {"DELETE", "/v1/limits/credits", "{}", 400, "DELETE takes no body here"},
      {"POST", "/v1/take", "", 400, "the body is missing"},
      {"POST", "/v1/take", "{", 400, "JSON, at offset 1"},
      {"POST", "/v1/take", "[]", 400, "the body must be an object, not an array"},
      {"POST", "/v1/take", "null", 400, "the body must be an object, not null"},
      {"POST", "/v1/take", "{}", 400, "charges is missing"},
      {"POST", "/v1/take", R"({"charges":1})", 400, "charges must be an array, not 1"},
      {"POST", "/v1/take", R"({"charges":[]})", 400, "charges: an operation has 1 to 16"},
      {"POST", "/v1/take", R"({"charges":[1]})", 400, "charges[0] must be an object, not 1"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k"},{"limit":"credits"}]})", 400,
       "charges[1].key is missing"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","costs":1}]})", 400,
       "unknown field \\\"charges[0].costs\\\""},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":1.5}]})", 400,
       "charges[0].cost must be an integer, not 1.5"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":9223372036854775808}]})", 400,
       "charges[0].cost is out of range: an integer has 64 bits at most, and 9223372036854775808 has more"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":-0}]})", 400,
       "charges[0].cost must be an integer, not -0"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":1e999}]})", 400, "not 1e999"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":-0}]})", 400, "not -0"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":9007199254740993}]})", 400,
       "cost of 'credits' must be 0 to 9007199254740991"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":"1"}]})", 400,
       "must be an integer, not \\\"1\\\""},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":-1}]})", 400, "cost of 'credits'"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":7}]})", 400,
       "charges[0].key must be a string, not 7"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":""}]})", 400, "key must have 1 to 512 bytes"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"a\u0000b"}]})", 400, "must not have a NUL"},
      {"POST", "/v1/take", "{\"charges\":[{\"limit\":\"credits\",\"key\":\"\xC0\x80\"}]}", 400, "not UTF-8"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"\ud800"}]})", 400, "surrogate"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","key":"k"}]})", 400, "stands twice"},
      {"POST", "/v1/take", R"({"charges":[{"limit":"credits","key":")" + std::string(513, 'k') + "\"}]}", 400,
       "key must have 1 to 512 bytes"},
      {"POST", "/v1/take", "{" + charge + R"(,"mode":"grab"})", 400, "mode must be one of"},
      {"POST", "/v1/take", "{" + charge + R"(,"mode":1})", 400, "mode must be a string, not 1"},
      {"POST", "/v1/take", "{" + charge + R"(,"id":""})", 400, "id must not be empty"},
      {"POST", "/v1/take", "{" + charge + R"(,"id":null})", 400, "id must be a string, not null"},
      {"POST", "/v1/take", "{" + charge + R"(,"id":"x","mode":"peek"})", 400, "a peek takes none"},
      {"POST", "/v1/take", "{" + charge + R"(,"patience":1})", 400, "unknown field \\\"patience\\\""},
      {"POST", "/v1/give", R"({"charges":[{"limit":"credits","key":"k","cost":0}]})", 400,
       "cost of 'credits' must be 1 to"},
      {"POST", "/v1/holds", "{" + charge + "}", 400, "ttl is missing"},
      {"POST", "/v1/holds", "{" + charge + R"(,"ttl":0})", 400, "ttl must be above 0"},
      {"POST", "/v1/holds", "{" + charge + R"(,"ttl":-1})", 400, "ttl: "},
      {"POST", "/v1/holds", "{" + charge + R"(,"ttl":"1y"})", 400, "ttl: "},
      {"POST", "/v1/holds", "{" + charge + R"(,"ttl":1.5})", 400, "ttl must be a string such as"},
      {"POST", "/v1/holds", "{" + charge + R"(,"ttl":"367d"})", 400, "at most 1 year"},
      {"POST", "/v1/holds", "{" + charge + R"(,"ttl":9223372036854775807})", 400, "longer than 292 years"},
      {"POST", "/v1/holds/h/commit", R"({"amounts":[6]})", 422, "exceeds"},
      {"POST", "/v1/holds/h/commit", R"({"amounts":[1,1]})", 400, ""},
      {"POST", "/v1/holds/h/commit", R"({"amounts":[]})", 400, "amounts must have one per charge"},
      {"POST", "/v1/holds/h/commit", R"({"amounts":["1"]})", 400, "amounts[0] must be an integer"},
      {"POST", "/v1/holds/h/commit", R"({"overage":1})", 400, "overage must be true or false, not 1"},
      {"POST", "/v1/holds/h/cancel", R"({"why":1})", 400, "unknown field"},
      {"POST", "/v1/holds/h/extend", "", 400, "the body is missing"},
      {"PUT", "/v1/meters/credits/k", R"({"used":-1})", 400, "amount must be 0 to"},
      {"PUT", "/v1/limits/credits/overrides/k", R"({"amount":0})", 400, "amount must be 1 to"},

      // Definitions.
      {"PUT", "/v1/limits/l", R"({"amount":1})", 400, "kind is missing"},
      {"PUT", "/v1/limits/l", R"({"kind":"leaky","amount":1})", 400, "kind must be one of"},
      {"PUT", "/v1/limits/l", R"({"kind":"stock"})", 400, "amount is missing"},
      {"PUT", "/v1/limits/l", R"({"kind":"stock","amount":9007199254740992})", 400, "amount must be 1 to"},
      {"PUT", "/v1/limits/l", R"({"kind":"stock","amount":1,"burst":1})", 400, "burst: a stock takes none"},
      {"PUT", "/v1/limits/l", R"({"kind":"stock","amount":1,"scope":"escrow"})", 400, "[escrow] of mete.toml"},
      {"PUT", "/v1/limits/l", R"({"kind":"window","amount":1})", 400, "period is missing"},
      {"PUT", "/v1/limits/l", R"({"kind":"window","amount":1,"period":"month"})", 400, "period: "},
      {"PUT", "/v1/limits/l", R"({"kind":"window","amount":1,"period":true})", 400, "period must be"},
      {"PUT", "/v1/limits/l", R"({"kind":"calendar","amount":1,"period":"1m"})", 400, "period of a calendar"},
      {"PUT", "/v1/limits/l", R"({"kind":"calendar","amount":1,"period":"day","zone":"Mars/Base"})", 400, "Mars/Base"},
      {"PUT", "/v1/limits/l", R"({"kind":"calendar","amount":1,"period":"month","anchor":32})", 400, "anchor"},
      {"PUT", "/v1/limits/l", R"({"kind":"stock","amount":1,"name":"m"})", 400, "name must be as in the path"},
      {"PUT", "/v1/limits/l", R"({"kind":"stock","amount":1,"color":"red"})", 400, "unknown field \\\"color\\\""},
      {"PUT", "/v1/limits/a%0Ab", R"({"kind":"stock","amount":1})", 400, "control characters"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.method + " " + row.target + " " + row.body.substr(0, 100));
    const Answer answer = send(row.method, row.target, row.body);
    expect_problem(answer, row.status, row.detail);
    EXPECT_EQ(answer.header("Allow"), row.status == 405 ? row.detail : "(none)");
  }
  EXPECT_EQ(send("GET", "/v1/meters/credits/k").body,
            R"({"used":0,"held":5,"remaining":5,"limit":10,"reset_after_ms":-1})")
      << "an error changes nothing";
}

TEST_F(HttpRoutes, TakeOnlyJson) {
  define(stock("credits").amount(10));
  const std::string body = R"({"charges":[{"limit":"credits","key":"k"}]})";
  const auto send_as = [&](const std::string& type) {
    return send_text("POST /v1/take HTTP/1.1\r\nHost: a\r\n" + type + "Content-Length: " + std::to_string(body.size()) +
                     "\r\n\r\n" + body);
  };
  for (const std::string type :
       {"Content-Type: application/json\r\n", "content-type: Application/JSON ; charset=utf-8\r\n", "",
        "Content-Type:\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"}) {
    EXPECT_EQ(send_as(type).status, 200) << type;
  }
  for (const std::string type :
       {"Origin: http://a\r\n", "Content-Type: text/plain\r\n",
        "Origin: http://a\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/jsonx\r\n", "Content-Type: application/json, text/plain\r\n"}) {
    expect_problem(send_as(type), 415, "application/json");
  }
}

TEST_F(HttpRoutes, TakeNoCompressedBodies) {
  define(stock("credits").amount(10));
  const std::string body = R"({"charges":[{"limit":"credits","key":"k"}]})";
  const auto send_as = [&](const std::string& encoding) {
    return send_text("POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Encoding: " +
                     encoding + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  for (const std::string encoding : {"", "identity", "Identity"}) EXPECT_EQ(send_as(encoding).status, 200) << encoding;
  for (const std::string encoding : {"gzip", "br", "identity, gzip", "x"}) {
    const Answer answer = send_as(encoding);
    expect_problem(answer, 415, "send the body as it is");
    EXPECT_EQ(answer.header("Accept-Encoding"), "identity");
  }
}

TEST_F(HttpRoutes, WantATokenWhereAPasswordIsSet) {
  define(stock("credits").amount(10));
  Doorkeeper doorkeeper({.admin = "admin's", .use = "user's"});
  hooks.doorkeeper = &doorkeeper;
  const std::string none;
  const std::string user = "Authorization: Bearer user's\r\n";
  const std::string admin = "authorization: bearer admin's\r\n";
  const struct {
    std::string target;
    std::string method;
    std::string body;
    int status_none;
    int status_user;
    int status_admin;
  } rows[] = {
      {"/healthz", "GET", "", 200, 200, 200},
      {"/readyz", "GET", "", 200, 200, 200},
      {"/openapi.json", "GET", "", 200, 200, 200},
      {"/metrics", "GET", "", 401, 200, 200},
      {"/v1/check?limit=credits&key=k", "GET", "", 401, 200, 200},
      {"/v1/check?nonsense", "GET", "", 401, 400, 400},
      {"/v1/limits", "GET", "", 401, 200, 200},
      {"/v1/limits/new", "PUT", R"({"kind":"stock","amount":1})", 401, 403, 201},
      {"/v1/meters/credits/k", "PUT", R"({"used":1})", 401, 403, 200},
      {"/v1/limits/credits/overrides/k", "PUT", R"({"amount":1})", 401, 403, 200},
      {"/v1/limits/credits/overrides/k", "DELETE", "", 401, 403, 204},
      {"/v1/limits/credits", "DELETE", "", 401, 403, 204},
      {"/nothing", "GET", "", 404, 404, 404},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.method + " " + row.target);
    const Answer anonymous = send(row.method, row.target, row.body, none);
    EXPECT_EQ(anonymous.status, row.status_none);
    EXPECT_EQ(anonymous.header("WWW-Authenticate"), row.status_none == 401 ? "Bearer realm=\"mete\"" : "(none)");
    EXPECT_EQ(send(row.method, row.target, row.body, user).status, row.status_user);
    EXPECT_EQ(send(row.method, row.target, row.body, admin).status, row.status_admin);
  }
  for (const std::string authorization :
       {"Basic dXNlcidz", "Bearer", "Bearer ", "user's", "Bearer nobody's", "Bearer  user's"}) {
    const Answer answer = send("GET", "/v1/limits", "", "Authorization: " + authorization + "\r\n");
    expect_problem(answer, 401, "");
    EXPECT_EQ(answer.member("code"), "\"NOAUTH\"");
  }
}

TEST_F(HttpRoutes, SayWhenTheServerIsNotReady) {
  hooks.why_not_ready = [] { return std::optional<std::string>("the server is not ready"); };
  const Answer answer = send("GET", "/readyz");
  expect_problem(answer, 503, "not ready");
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_EQ(send("GET", "/healthz").status, 200);
}

TEST_F(HttpRoutes, ShowWhatIsNotUtf8) {
  define(stock("credits").amount(10));
  const std::vector<Charge> charges = {{"credits", "\xFF\xC3"}};
  ASSERT_TRUE(store.hold({.charges = charges, .ttl = 1min, .id = "h", .tag = "\x80"}).has_value());
  EXPECT_EQ(send("GET", "/v1/holds/h").member("charges"), R"([{"limit":"credits","key":"\\xff\\xc3","amount":1}])");
  EXPECT_EQ(send("GET", "/v1/holds/h").member("tag"), R"("\\x80")");
}

TEST_F(HttpRoutes, StartSyncsAndTellHowTheyWent) {
  expect_problem(send("POST", "/v1/limits/credits/sync"), 404, "no [[sync]] for limit 'credits'");
  EXPECT_EQ(send("GET", "/v1/syncs").body, R"({"syncs":[],"runs":[]})");
  define(stock("credits").amount(100));
  syncs.set_plans({{.limit = "credits", .source = "postgres://127.0.0.1:1/x", .query = "q", .schedule = "@hourly"}})
      .value();
  EXPECT_EQ(send("GET", "/v1/syncs").member("syncs"),
            R"([{"limit":"credits","schedule":"@hourly","zone":"UTC","missing":"keep","max_change":"",)"
            R"("next_run_at":"2023-11-14T23:00:00.000Z","last_success_at":""}])");
  const Answer started = send("POST", "/v1/limits/credits/sync", R"({"dry_run":true})");
  EXPECT_EQ(started.status, 202);
  EXPECT_EQ(started.body, R"({"run":1})");
  EXPECT_EQ(started.header("Location"), "/v1/syncs");
  const auto has_failed = [&] {
    return send("GET", "/v1/syncs").body.find(R"("state":"failed")") != std::string::npos;
  };
  EXPECT_TRUE(support::becomes_true(20s, has_failed));
  const std::string runs = send("GET", "/v1/syncs").member("runs");
  EXPECT_NE(runs.find(R"("trigger":"demand","limit":"credits","dry_run":true,"forced":false,"message":"the source: )"),
            std::string::npos)
      << runs;
  expect_problem(send("POST", "/v1/limits/credits/sync", R"({"dry":true})"), 400, "dry");
}

// Success by route: the answer is an object of the schema that the table, and so the OpenAPI document, tells.
TEST_F(HttpRoutes, AnswerAsDeclared) {
  define(stock("credits").amount(100));
  syncs.set_plans({{.limit = "credits", .source = "postgres://127.0.0.1:1/x", .query = "select 1, 2"}}).value();
  const std::string charge = R"("charges":[{"limit":"credits","key":"k"}])";
  send("POST", "/v1/holds", "{" + charge + R"(,"ttl":60,"id":"a"})");
  send("POST", "/v1/holds", "{" + charge + R"(,"ttl":60,"id":"b"})");
  const struct {
    std::string name;
    std::string target;
    std::string body;
  } rows[] = {
      {"take", "/v1/take", "{" + charge + R"(,"mode":"up_to"})"},
      {"takes", "/v1/takes", "[{" + charge + "},{" + charge + R"(,"mode":"up_to"}])"},
      {"check", "/v1/check?limit=credits&key=k", ""},
      {"give", "/v1/give", "{" + charge + "}"},
      {"hold", "/v1/holds", "{" + charge + R"(,"ttl":60})"},
      {"listHolds", "/v1/holds?limit=credits&key=k", ""},
      {"getHold", "/v1/holds/a", ""},
      {"extendHold", "/v1/holds/a/extend", R"({"ttl":60})"},
      {"commitHold", "/v1/holds/a/commit", ""},
      {"cancelHold", "/v1/holds/b/cancel", ""},
      {"listLimits", "/v1/limits", ""},
      {"putLimit", "/v1/limits/credits", R"({"kind":"stock","amount":50})"},
      {"getLimit", "/v1/limits/credits", ""},
      {"putOverride", "/v1/limits/credits/overrides/k", R"({"amount":40})"},
      {"deleteOverride", "/v1/limits/credits/overrides/k", ""},
      {"getMeter", "/v1/meters/credits/k", ""},
      {"putMeter", "/v1/meters/credits/k", R"({"used":4})"},
      {"startSync", "/v1/limits/credits/sync", R"({"dry_run":true,"force":true})"},
      {"listSyncs", "/v1/syncs", ""},
      {"deleteLimit", "/v1/limits/credits", ""},
      {"getHealth", "/healthz", ""},
      {"getReadiness", "/readyz", ""},
      {"getMetrics", "/metrics", ""},
      {"getOpenApi", "/openapi.json", ""},
  };
  EXPECT_EQ(std::size(rows), http_routes().size()) << "every route has its row";
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto routes = http_routes();
    const auto route =
        std::find_if(routes.begin(), routes.end(), [&](const Route& each) { return each.name == row.name; });
    ASSERT_NE(route, routes.end());
    const Answer answer = send(std::string(route->method), row.target, row.body);
    EXPECT_EQ(answer.status, route->status) << answer.body;
    EXPECT_TRUE(answer.content_type.starts_with(route->content_type)) << answer.content_type;
    EXPECT_EQ(answer.body.empty(), route->content_type.empty());
    if (route->answer == nullptr) continue;
    const wire::JsonValue body = wire::read_json(answer.body).value();
    const auto checked = route->is_list ? check_list(body, *route->answer) : check_object(body, *route->answer);
    EXPECT_TRUE(checked.has_value()) << checked.error().message;
  }
}

TEST_F(HttpRoutes, ProblemsAreAsDeclared) {
  define(stock("credits").amount(1));
  const Answer denied = send("POST", "/v1/take", R"({"charges":[{"limit":"credits","key":"k","cost":2}]})");
  const Answer unknown = send("GET", "/v1/limits/x");
  EXPECT_TRUE(check_object(wire::read_json(denied.body).value(), schema::kDenial).has_value());
  EXPECT_TRUE(check_object(wire::read_json(unknown.body).value(), schema::kProblem).has_value());
}

// A store that cannot serve.
TEST_F(HttpRoutes, TellThatMemoryIsFull) {
  store::EmbeddedStore small{Options{.clock = &clock, .max_memory = std::size_t{4} << 20}};
  ASSERT_TRUE(small.define(mete::stock("s").amount(10)).has_value());
  Result<core::Verdict> verdict;
  for (int i = 0; verdict.has_value() && i < 1'000'000; ++i) {
    const std::string key = std::to_string(i) + std::string(400, 'k');
    const Charge charge = {"s", key};
    verdict = small.take({std::span(&charge, 1)});
  }
  ASSERT_FALSE(verdict.has_value());
  wire::HttpRequestParser parser;
  const std::string text = "GET /v1/check?limit=s&key=new" + std::string(400, 'k') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  parser.parse(text);
  store::Execution execution;
  const HttpApi api(small, hooks);
  const HttpCaller caller = api.identify(parser.request(), {});
  const auto response = api.handle(parser.request(), caller, observer, execution);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.headers.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(response.body.find("\"code\":\"OOM\""), std::string::npos) << response.body;
}

}  // namespace
}  // namespace mete::server
