#include "server/doors/resp/resp_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "unit/server/doors/resp/resp_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using net::Session;
using ::testing::HasSubstr;

struct Heard {
  std::string bytes;
  std::size_t consumed = 0;
  Session::Next next = Session::Next::kRead;

  bool operator==(const Heard&) const = default;
};

void PrintTo(const Heard& heard, std::ostream* out) {
  *out << wire::quote(heard.bytes, 2000) << " consumed " << heard.consumed << " next " << static_cast<int>(heard.next);
}

Heard tell(RespSession& session, std::string_view bytes, std::size_t output_max = 1 << 20) {
  base::Output output;
  const auto received = session.receive(bytes, output, output_max);
  EXPECT_EQ(received.ticket, 0U);
  return {std::string(output.view()), received.consumed, received.next};
}

class RespSessionTest : public testing::RespFixture {
 protected:
  // The bytes of one request, or of several, and the bytes that answer them.
  std::string answer(std::string_view bytes) { return tell(*session, bytes).bytes; }

  std::unique_ptr<RespSession> session = make_session();
};

TEST_F(RespSessionTest, APasswordThatWasReplacedGivesNothingAnyMore) {
  service.doorkeeper.replace({.admin = "old", .use = "u"});
  EXPECT_EQ(answer("AUTH old\r\n"), "+OK\r\n");
  EXPECT_FALSE(session->is_stranger());
  service.doorkeeper.replace({.admin = "new", .use = "u"});
  EXPECT_TRUE(session->is_stranger()) << "though it is silent";
  EXPECT_TRUE(answer("PING\r\n").starts_with("-NOAUTH ")) << "whoever looks for connections to close may be past it";
  EXPECT_EQ(answer("AUTH u\r\n"), "+OK\r\n");
  service.doorkeeper.replace({.admin = "another", .use = "u"});
  EXPECT_FALSE(session->is_stranger());
  EXPECT_EQ(answer("PING\r\n"), "+PONG\r\n");
}

TEST_F(RespSessionTest, AnswersAPipelineInItsOrder) {
  define(stock("s").amount(3));
  const std::string take = "*3\r\n$4\r\nTAKE\r\n$1\r\ns\r\n$1\r\nk\r\n";
  const Heard heard = tell(*session, "PING\r\n" + take + take + "ECHO hi\r\n*3\r\n$4\r\nTA");
  EXPECT_EQ(heard.bytes,
            "+PONG\r\n"
            "*6\r\n:1\r\n:2\r\n:3\r\n:0\r\n:-1\r\n*0\r\n"
            "*6\r\n:1\r\n:1\r\n:3\r\n:0\r\n:-1\r\n*0\r\n"
            "$2\r\nhi\r\n");
  EXPECT_EQ(heard.consumed, std::string("PING\r\nECHO hi\r\n").size() + 2 * take.size());
  EXPECT_EQ(heard.next, Session::Next::kRead);
}

// Takes that arrive together go to the store together; nobody can tell.
TEST_F(RespSessionTest, AnswersTakesThatArriveTogetherAsIfEachCameAlone) {
  define(stock("s").amount(30));
  define(bucket("b").amount(9).per(60s));
  std::mt19937_64 random(3);
  std::vector<std::string> requests;
  for (int i = 0; i < 200; ++i) {
    const std::string limit = random() % 10 == 0 ? "n" : random() % 2 == 0 ? "s" : "b";
    const std::string take = "TAKE\r\n$1\r\n" + limit + "\r\n$2\r\n?" + std::to_string(random() % 3) + "\r\n";
    const std::string give = "GIVE\r\n$1\r\n" + limit + "\r\n$2\r\n?" + std::to_string(random() % 3) + "\r\n";
    const bool has_cost = random() % 8 == 0;
    requests.push_back(random() % 12 == 0  ? "*1\r\n$4\r\nPING\r\n"
                       : random() % 9 == 0 ? "*3\r\n$4\r\n" + give
                       : has_cost          ? "*5\r\n$4\r\n" + take + "$4\r\nCOST\r\n$1\r\n2\r\n"
                                           : "*3\r\n$4\r\n" + take);
  }
  const auto with_key = [](std::string request, char letter) {
    std::replace(request.begin(), request.end(), '?', letter);
    return request;
  };
  std::string stream;
  std::string alone;
  for (const std::string& request : requests) {
    stream += with_key(request, 't');
    alone += answer(with_key(request, 'a'));
  }
  const auto allowed = [this] {
    std::map<std::string, DecisionCounts> sums;
    service.workers[0]->metrics.add_decisions_to(sums);
    return sums["s"].allowed + sums["b"].allowed;
  };
  const std::uint64_t counted = allowed();
  const Heard together = tell(*session, stream);
  EXPECT_EQ(together, (Heard{alone, stream.size(), Session::Next::kRead}));
  EXPECT_THAT(alone, HasSubstr("*1\r\n$1\r\nb\r\n"));
  EXPECT_THAT(alone, HasSubstr("-NOLIMIT unknown limit 'n'\r\n"));
  EXPECT_EQ(allowed(), 2 * counted);
  EXPECT_EQ(service.workers[0]->metrics.commands.get(), 2 * requests.size());
}

// The keys of commands that arrive together are fetched together; nobody can tell, whatever stands between them.
TEST_F(RespSessionTest, AnswersCommandsOnKeysThatArriveTogetherAsIfEachCameAlone) {
  define(stock("s").amount(30));
  const std::vector<std::string> commands = {
      "INCR ?c",
      "INCRBY ?c 5",
      "GET ?c",
      "TAKE s ?k",
      "CL.THROTTLE ?t 4 1 60",
      "THROTTLE ?t 4 1 60 2",
      "PING",
      "INCREX ?c UBOUND 40",
      "INCREX ?c BYINT -3 LBOUND 2 UBOUND 90",
      "INCREX ?e EX 100 ENX UBOUND 9",
      "increx ?e px 5000",
      "INCREX ?e EX 0",
      "INCREX ?e EX 10 PX 10",
      "INCREX ?e PX 9223372036854775807",
      "INCREX ?c SATURATE UBOUND 9",
      "INCREX ?c BYINT 2 BYINT 3",
      "INCREX ?c UBOUND",
      "INCREX ?c NONSENSE 5",
      "DECR ?c",
      "DECRBY ?c 2",
      "DECRBY ?c -9223372036854775808",
      "INCRBY ?c 9223372036854775807",
      "INCRBY ?c x",
      "QUOTAINCR ?q 9 60 4",
      "QUOTAINCR ?q 9 0",
      "INCR ?q",
      "CL.THROTTLE ?t -1 1 60",
      "CL.THROTTLE ?t 9007199254740991 1 60",
      "THROTTLE ?t 0 1 60",
      "THROTTLE ?t 4 1 9223372036854775807",
      "CL.THROTTLE ?t 4 1 60 1 1",
      "QUOTAINCR ?q 9 60",
      "GCRA ?g 4 1 60 TOKENS 2",
      "INCR ?t",
      "DEL ?c ?q",
      "CL.THROTTLE ?t x 1 60",
      "INCR",
      "SET ?c 7 EX 100",
      "NONSENSE ?c",
  };
  const auto request = [](const std::string& command, char letter) {
    std::istringstream words(command);
    std::string bytes;
    int count = 0;
    for (std::string word; words >> word; ++count) {
      std::replace(word.begin(), word.end(), '?', letter);
      bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return "*" + std::to_string(count) + "\r\n" + bytes;
  };
  std::mt19937_64 random(5);
  std::string stream;
  std::string alone;
  for (int i = 0; i < 1000; ++i) {
    const std::string& command = commands[random() % commands.size()];
    stream += request(command, 't');
    alone += answer(request(command, 'a'));
  }
  const Heard together = tell(*session, stream);
  EXPECT_EQ(together, (Heard{alone, stream.size(), Session::Next::kRead}));
  EXPECT_THAT(alone, HasSubstr("-WRONGTYPE"));
}

TEST_F(RespSessionTest, ServesSoManyCommandsAtATimeAndNoMore) {
  define(stock("s").amount(100));
  service.pipeline_max = 10;
  std::string stream;
  for (int i = 0; i < 25; ++i) stream += "*3\r\n$4\r\nTAKE\r\n$1\r\ns\r\n$1\r\nk\r\n";
  const Heard heard = tell(*session, stream);
  EXPECT_EQ(heard.next, Session::Next::kDrain);
  EXPECT_EQ(heard.consumed, stream.size() / 25 * 10);
  EXPECT_THAT(answer("USAGE s k\r\n"), HasSubstr("*5\r\n:10\r\n"));
}

TEST_F(RespSessionTest, AnswersTheSameHoweverTheBytesAreCut) {
  define(stock("s").amount(3));
  const std::string stream =
      "*1\r\n$4\r\nPING\r\n\r\nSET a 5\r\n*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$2\r\n10\r\nPEEK s \"k "
      "k\"\r\nNOPE\r\n*0\r\nGET a\r\n";
  const std::string whole = answer(stream);
  EXPECT_EQ(
      whole,
      "+PONG\r\n+OK\r\n:15\r\n*6\r\n:1\r\n:2\r\n:3\r\n:0\r\n:-1\r\n*0\r\n-ERR unknown command 'NOPE'\r\n$2\r\n15\r\n");
  for (std::size_t at = 0; at <= stream.size(); ++at) {
    const auto other = make_session(2);
    const Heard first = tell(*other, std::string_view(stream).substr(0, at));
    const Heard second = tell(*other, std::string_view(stream).substr(first.consumed));
    EXPECT_EQ(first.bytes + second.bytes, whole) << "cut at " << at;
  }
}

TEST_F(RespSessionTest, RefusesWhatIsNoCommand) {
  const struct {
    std::string_view request;
    std::string_view reply;
  } rows[] = {
      {"FOO bar\r\n", "-ERR unknown command 'FOO'\r\n"},
      {"\"a\\r\\nb\"\r\n", "-ERR unknown command 'a\\r\\nb'\r\n"},
      {"*1\r\n$0\r\n\r\n", "-ERR unknown command ''\r\n"},
      {"*1\r\n$5\r\nPING \r\n", "-ERR unknown command 'PING '\r\n"},
      {std::string_view("*1\r\n$5\r\nPING\0\r\n", 15), "-ERR unknown command 'PING\\x00'\r\n"},
      {"*1\r\n$16\r\nCL.THROTTLEXXXXX\r\n", "-ERR unknown command 'CL.THROTTLEXXXXX'\r\n"},
      {"CL\x0eTHROTTLE k 1 1 1\r\n", "-ERR unknown command 'CL\\x0eTHROTTLE'\r\n"},
      {"GET\r\n", "-ERR wrong number of arguments for 'get' command\r\n"},
      {"get a b\r\n", "-ERR wrong number of arguments for 'get' command\r\n"},
      {"LIMIT\r\n", "-ERR wrong number of arguments for 'limit' command\r\n"},
      {"limit get\r\n", "-ERR wrong number of arguments for 'limit|get' command\r\n"},
      {"limit foo\r\n", "-ERR unknown subcommand 'foo'. Try LIMIT HELP.\r\n"},
      {"Command FOO bar\r\n", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.\r\n"},
      {"client FOO\r\n", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.\r\n"},
      {"CONFIG \"\"\r\n", "-ERR unknown subcommand ''. Try CONFIG HELP.\r\n"},
      {"slowlog FOO\r\n", "-ERR unknown subcommand 'FOO'. Try SLOWLOG HELP.\r\n"},
      {"TAKE api\r\n", "-ERR wrong number of arguments for 'take' command\r\n"},
      {"TAKE api alice FOO\r\n", "-ERR syntax error\r\n"},
      {"TAKE api alice COST x\r\n", "-ERR value is not an integer or out of range\r\n"},
  };
  for (const auto& row : rows) EXPECT_EQ(answer(row.request), row.reply);
  EXPECT_EQ(service.workers[0]->metrics.command_errors.get(), std::size(rows));
  EXPECT_EQ(service.workers[0]->metrics.commands.get(), std::size(rows));
}

// Whoever finds out: the reader of the request, the handler, the store, alone or for several together.
TEST_F(RespSessionTest, CountsEveryErrorOnce) {
  const std::string take = "*3\r\n$4\r\nTAKE\r\n$4\r\nnope\r\n$1\r\nk\r\n";
  const struct {
    std::string request;
    std::uint64_t errors;
  } rows[] = {
      {"PING\r\n", 0},
      {"NOPE\r\n", 1},
      {"GET\r\n", 1},
      {"TAKE nope a\r\n", 1},
      {"COMMIT nope\r\n", 1},
      {"SELECT 1\r\n", 1},
      {take + take, 2},
      {"INCREX n ENX\r\nGET a\r\nGET\r\n", 2},
      {"TAKE nope a WAIT 1s\r\n", 1},
  };
  std::uint64_t expected = 0;
  for (const auto& row : rows) {
    answer(row.request);
    EXPECT_EQ(service.workers[0]->metrics.command_errors.get(), expected += row.errors) << row.request;
  }
  answer("*1\r\n:\r\n");
  EXPECT_EQ(service.workers[0]->metrics.command_errors.get(), expected) << "counted as a protocol error";
  EXPECT_EQ(service.workers[0]->metrics.protocol_errors.get(), 1U);
}

// Clients send all of a transaction at once; half of it must not happen.
TEST_F(RespSessionTest, CarriesNothingOutBetweenMultiAndExec) {
  define(stock("s").amount(3));
  constexpr std::string_view kMulti =
      "-ERR MULTI is not supported: use INCREX, QUOTAINCR or TAKE, which are one atomic step each, or a pipeline "
      "without "
      "a transaction\r\n";
  constexpr std::string_view kRefused =
      "-ERR not carried out: it stands between MULTI and EXEC, and MULTI is not supported\r\n";
  const std::string take = "*3\r\n$4\r\nTAKE\r\n$1\r\ns\r\n$1\r\nk\r\n";
  const std::string refused(kRefused);
  EXPECT_EQ(answer("MULTI\r\n"), kMulti);
  EXPECT_EQ(answer("SET a 1\r\n" + take + take + "KEYS *\r\nMULTI\r\nAUTH x\r\n"),
            refused + refused + refused + refused + refused + refused);
  EXPECT_EQ(answer("EXEC\r\n"), "-EXECABORT Transaction discarded because MULTI is not supported\r\n");
  EXPECT_EQ(answer("GET a\r\nUSAGE s k\r\n"), "$-1\r\n*5\r\n:0\r\n:0\r\n:3\r\n:3\r\n:-1\r\n");
  EXPECT_EQ(answer("MULTI\r\nINCR a\r\nDISCARD\r\nINCR a\r\n"), std::string(kMulti) + refused + "+OK\r\n:1\r\n");
  EXPECT_EQ(answer("MULTI\r\nRESET\r\nINCR a\r\n"), std::string(kMulti) + "+RESET\r\n:2\r\n");
  EXPECT_EQ(answer("EXEC\r\nDISCARD\r\n"), "-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n");
  EXPECT_THAT(answer("WATCH a\r\n"), ::testing::StartsWith("-ERR WATCH is not supported"));
  EXPECT_THAT(answer("UNWATCH\r\n"), ::testing::StartsWith("-ERR UNWATCH is not supported"));
  EXPECT_EQ(tell(*session, "MULTI\r\nQUIT x\r\n").next, Session::Next::kClose);
}

TEST_F(RespSessionTest, OnlyMonitorsMayBeSilent) {
  EXPECT_FALSE(session->may_be_silent());
  answer("MONITOR\r\n");
  EXPECT_TRUE(session->may_be_silent());
  answer("RESET\r\n");
  EXPECT_FALSE(session->may_be_silent());
}

TEST_F(RespSessionTest, ClosesAfterAProtocolError) {
  EXPECT_EQ(tell(*session, "PING\r\n*1\r\n$-5\r\nPING\r\n"),
            (Heard{"+PONG\r\n-ERR Protocol error: invalid bulk length\r\n", 6, Session::Next::kClose}));
  EXPECT_EQ(service.workers[0]->metrics.protocol_errors.get(), 1U);
}

TEST_F(RespSessionTest, ClosesOnHttpWithoutAWord) {
  for (const std::string_view request : {"POST / HTTP/1.1\r\nPING\r\n", "Host: example\r\nPING\r\n", "host: a\r\n"}) {
    const auto other = make_session(2);
    const Heard heard = tell(*other, request);
    EXPECT_EQ(heard.bytes, "") << request;
    EXPECT_EQ(heard.next, Session::Next::kClose) << request;
  }
}

TEST_F(RespSessionTest, QuitsAfterItsAnswer) {
  EXPECT_EQ(tell(*session, "QUIT\r\nPING\r\n"), (Heard{"+OK\r\n", 6, Session::Next::kClose}));
}

TEST_F(RespSessionTest, StopsWhenTheOutputIsFullAndGoesOnLater) {
  const std::string stream = "ECHO aaaaa\r\nECHO bbbbb\r\nECHO ccccc\r\n";
  EXPECT_EQ(tell(*session, stream, 20), (Heard{"$5\r\naaaaa\r\n$5\r\nbbbbb\r\n", 24, Session::Next::kDrain}));
  EXPECT_EQ(tell(*session, stream.substr(24), 20), (Heard{"$5\r\nccccc\r\n", 12, Session::Next::kRead}));
}

TEST_F(RespSessionTest, BlocksOnSlowCommandsAndOnWaits) {
  define(stock("s").amount(1));
  for (const std::string_view request :
       {"KEYS *\r\n", "LIMIT SET x STOCK 5\r\n", "FLUSHALL\r\n", "TOP\r\n", "TAKE s k WAIT 1s\r\n"}) {
    EXPECT_EQ(tell(*session, std::string(request) + "PING\r\n"), (Heard{"", request.size(), Session::Next::kBlock}));
    EXPECT_TRUE(session->client().is_blocked);
    EXPECT_EQ(session->answers_half_closed(), request.find("WAIT") == std::string_view::npos);
    EXPECT_EQ(tell(*session, "PING\r\n"), (Heard{"+PONG\r\n", 6, Session::Next::kRead}));
    EXPECT_FALSE(session->client().is_blocked);
  }
  // Bad arguments are told at once.
  EXPECT_EQ(answer("TAKE nope k WAIT 1s\r\n"), "-NOLIMIT unknown limit 'nope'\r\n");
  EXPECT_EQ(answer("TAKE s k WAIT 0\r\n").substr(0, 8), "*6\r\n:1\r\n");
}

// The client has gone before its answer came: it gives back what it was given, and nothing of what others have.
TEST_F(RespSessionTest, WhatNobodyHearsOfIsGivenBack) {
  define(stock("s").amount(10));
  const struct {
    std::string_view request;
    Amount used;
  } rows[] = {
      {"TAKE s k COST 2 WAIT 1h\r\n", 8},
      {"TAKE s k COST 5 UPTO WAIT 1h\r\n", 8},
      {"TAKE s k COST 2 WAIT 1h ID op\r\n", 10},  // it can ask again
  };
  for (const auto& row : rows) {
    answer("RECONCILE s k 8\r\n");
    tell(*session, row.request);
    for (int round = 0; round < 10; ++round) {
      service.workers[0]->loop.stop();
      service.workers[0]->loop.run();
    }
    EXPECT_EQ(store.usage({"s", "k"})->used, row.used) << row.request;
  }
}

TEST_F(RespSessionTest, SaysALastWordWhenARequestGoesOnAndOn) {
  base::Output output;
  session->on_overflow(output);
  EXPECT_EQ(output.view(), "-ERR Protocol error: the request is longer than server.query_buffer_max allows\r\n");
}

TEST_F(RespSessionTest, SpeaksTheVersionThatHelloChose) {
  EXPECT_EQ(answer("GET a\r\n"), "$-1\r\n");
  EXPECT_THAT(answer("HELLO 3\r\n"), HasSubstr("%7\r\n$6\r\nserver\r\n$4\r\nmete\r\n"));
  EXPECT_EQ(answer("GET a\r\n"), "_\r\n");
  EXPECT_EQ(session->client().resp_version, 3);
  EXPECT_THAT(answer("HELLO\r\n"), HasSubstr("$5\r\nproto\r\n:3\r\n"));
  EXPECT_EQ(answer("HELLO 4\r\n"), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_EQ(answer("HELLO x\r\n"), "-ERR Protocol version is not an integer or out of range\r\n");
  EXPECT_EQ(answer("HELLO 3 FOO\r\n"), "-ERR Syntax error in HELLO option 'FOO'\r\n");
  EXPECT_EQ(answer("HELLO 2 AUTH default\r\n"), "-ERR Syntax error in HELLO option 'AUTH'\r\n");
  EXPECT_EQ(answer("GET a\r\n"), "_\r\n");
  // In one batch: what comes behind HELLO is answered in its version.
  EXPECT_THAT(answer("HELLO 2 SETNAME joe\r\nGET a\r\nCLIENT GETNAME\r\n"),
              ::testing::EndsWith("$-1\r\n$3\r\njoe\r\n"));
  EXPECT_EQ(answer("HELLO 3 SETNAME \"a b\"\r\nGET a\r\n"),
            "-ERR Client names cannot contain spaces, newlines or special characters.\r\n$-1\r\n");
}

TEST_F(RespSessionTest, ResetMakesItNew) {
  answer("HELLO 3 SETNAME joe\r\nMONITOR\r\n");
  EXPECT_TRUE(service.clients.has_monitors());
  EXPECT_EQ(answer("RESET\r\nCLIENT GETNAME\r\n"), "+RESET\r\n$-1\r\n");
  EXPECT_FALSE(service.clients.has_monitors());
}

TEST_F(RespSessionTest, IsAmongTheClientsWhileItLives) {
  EXPECT_EQ(service.clients.size(), 1U);
  {
    const auto other = make_session(2);
    tell(*other, "MONITOR\r\n");
    EXPECT_EQ(service.clients.size(), 2U);
    EXPECT_TRUE(service.clients.has_monitors());
  }
  EXPECT_EQ(service.clients.size(), 1U);
  EXPECT_FALSE(service.clients.has_monitors());
}

TEST_F(RespSessionTest, NotesSlowCommandsButNoSecrets) {
  service.slow_threshold_ns = 0;
  answer("CLIENT INFO\r\nCONFIG SET server.log_level info\r\nGET a\r\n");
  const auto slow = service.slow_log.latest(10);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].words, (std::vector<std::string>{"CLIENT", "INFO"}));
  EXPECT_EQ(slow[0].client_address, "127.0.0.1:40001");
}

class GuardedSessionTest : public testing::RespFixture {
 protected:
  static Config guarded() {
    Config config;
    config.password = "root";
    config.use_password = "guest";
    return config;
  }
  GuardedSessionTest() : RespFixture(guarded()) {}

  std::string answer(std::string_view bytes) { return tell(*session, bytes).bytes; }

  std::unique_ptr<RespSession> session = make_session();
};

TEST_F(GuardedSessionTest, AsksForAPasswordFirst) {
  constexpr std::string_view kNoAuth = "-NOAUTH Authentication required.\r\n";
  for (const std::string_view request :
       {"PING\r\n", "NOPE\r\n", "LIMIT\r\n", "GET\r\n", "TAKE a b\r\n", "FLUSHALL\r\n"}) {
    EXPECT_EQ(answer(request), kNoAuth) << request;
  }
  const std::string take = "*3\r\n$4\r\nTAKE\r\n$1\r\na\r\n$1\r\nb\r\n";
  EXPECT_EQ(answer(take + take), std::string(kNoAuth) + std::string(kNoAuth));
  EXPECT_THAT(answer("HELLO 3\r\n"), HasSubstr("-NOAUTH HELLO must be called"));
  EXPECT_EQ(answer("AUTH\r\n"), "-ERR wrong number of arguments for 'auth' command\r\n");
  EXPECT_EQ(answer("AUTH a b c\r\n"), "-ERR syntax error\r\n");
  EXPECT_EQ(tell(*session, "*11\r\n"),
            (Heard{"-ERR Protocol error: unauthenticated multibulk length\r\n", 0, Session::Next::kClose}));
}

TEST_F(GuardedSessionTest, HoldsTheAnswerToAWrongPasswordBack) {
  for (const std::string_view request : {"AUTH wrong\r\n", "AUTH \"\"\r\n", "AUTH admin guest\r\n", "AUTH use root\r\n",
                                         "AUTH joe root\r\n", "HELLO 3 AUTH default wrong\r\n"}) {
    EXPECT_EQ(tell(*session, "QUUX\r\n" + std::string(request)),
              (Heard{"-NOAUTH Authentication required.\r\n", 6 + request.size(), Session::Next::kBlock}))
        << request;
    EXPECT_FALSE(session->role().has_value());
  }
}

TEST_F(GuardedSessionTest, GivesEachPasswordItsRole) {
  const struct {
    std::string_view request;
    Role role;
  } rows[] = {
      {"AUTH root\r\n", Role::kAdmin},
      {"AUTH guest\r\n", Role::kUse},
      {"AUTH default root\r\n", Role::kAdmin},
      {"AUTH default guest\r\n", Role::kUse},
      {"AUTH admin root\r\n", Role::kAdmin},
      {"AUTH use guest\r\n", Role::kUse},
      {"HELLO 3 AUTH default root\r\n", Role::kAdmin},
  };
  for (const auto& row : rows) {
    answer("RESET\r\n");
    answer(row.request);
    EXPECT_EQ(session->role(), row.role) << row.request;
    EXPECT_EQ(session->client().role, row.role);
  }
}

TEST_F(GuardedSessionTest, KeepsAdminsCommandsFromUsers) {
  EXPECT_EQ(answer("AUTH guest\r\nPING\r\n"), "+OK\r\n+PONG\r\n");
  for (const std::string_view request : {"LIMIT SET x STOCK 5\r\n", "FLUSHALL\r\n", "CONFIG GET *\r\n", "SHUTDOWN\r\n",
                                         "MONITOR\r\n", "CLIENT LIST\r\n", "QUOTASET q 1 1\r\n", "RECONCILE a b 5\r\n",
                                         "LIMIT DEL x\r\n", "LIMIT OVERRIDE x k 5\r\n", "SLOWLOG GET\r\n"}) {
    EXPECT_THAT(answer(request), ::testing::StartsWith("-NOPERM ")) << request;
  }
  EXPECT_FALSE(was_shut_down);
  EXPECT_EQ(answer("AUTH root\r\nRECONCILE a b 5\r\n"), "+OK\r\n-NOLIMIT unknown limit 'a'\r\n");
}

// Quotas bind whoever may only use them.
TEST_F(GuardedSessionTest, KeepsQuotasFromUsers) {
  constexpr std::string_view kRefused =
      "-NOPERM this password may use the quota \"q\", not remove or replace it: AUTH with the admin's\r\n";
  EXPECT_EQ(answer("AUTH root\r\nQUOTASET q 3 60\r\nAUTH guest\r\nSET a 1\r\n"), "+OK\r\n+OK\r\n+OK\r\n+OK\r\n");
  for (const std::string_view request : {"DEL q\r\n", "UNLINK a q\r\n", "SET q 5\r\n", "SET q 5 XX EX 10\r\n",
                                         "SETEX q 10 5\r\n", "PSETEX q 10 5\r\n"}) {
    EXPECT_EQ(answer(request), kRefused) << request;
  }
  for (const std::string_view request : {"GETDEL q\r\n", "SET q 5 GET\r\n", "EXPIRE q 10\r\n", "INCREX q\r\n"}) {
    EXPECT_THAT(answer(request), ::testing::StartsWith("-WRONGTYPE ")) << request;
  }
  EXPECT_EQ(answer("SETNX q 5\r\nSET q 5 NX\r\n"), ":0\r\n$-1\r\n");
  EXPECT_EQ(answer("QUOTAINCR q 1000 1\r\n"), ":2\r\n") << "the numbers count only where there is no quota yet";
  EXPECT_EQ(answer("QUOTAGET q\r\n"), "*3\r\n:3\r\n:60\r\n:2\r\n");
  EXPECT_EQ(answer("EXISTS a q\r\nDEL a\r\n"), ":2\r\n:1\r\n") << "nothing was removed beside a quota";
  EXPECT_EQ(answer("AUTH root\r\nSET q 5\r\nDEL q\r\n"), "+OK\r\n+OK\r\n:1\r\n");
}

// An error changes nothing: neither role nor version nor name.
TEST_F(GuardedSessionTest, ABadHelloDoesNotAuthenticate) {
  for (const std::string_view request :
       {"HELLO 3 AUTH default root FOO\r\n", "HELLO 3 AUTH default root SETNAME \"a b\"\r\n"}) {
    EXPECT_EQ(answer(request).substr(0, 5), "-ERR ") << request;
    EXPECT_FALSE(session->role().has_value()) << request;
    EXPECT_EQ(session->version(), wire::RespVersion::k2) << request;
  }
}

TEST_F(GuardedSessionTest, LosesItsRoleWithReset) {
  answer("AUTH root\r\n");
  EXPECT_EQ(answer("RESET\r\nPING\r\n"), "+RESET\r\n-NOAUTH Authentication required.\r\n");
}

// What a client may send grows with the password, within the same batch.
TEST_F(GuardedSessionTest, RaisesTheLimitsOfRequests) {
  std::string request = "AUTH guest\r\n*21\r\n$4\r\nMGET\r\n";
  for (int index = 0; index < 20; ++index) request += "$1\r\na\r\n";
  EXPECT_EQ(answer(request).substr(0, 10), "+OK\r\n*20\r\n");
}

}  // namespace
}  // namespace mete::server
