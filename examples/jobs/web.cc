// The web process of the example. Each line of its input is a request, and gets one line as answer:
//
//     enqueue USER COST [JOB]      201 JOB, or 429 and when to come again, or 400 and 409 with what is wrong
//
// Credits for the job are set aside in the transaction that inserts it: there is no job without its hold, and no hold
// without its job, whatever crashes in between. A client that got no answer asks again with the same JOB, and nothing
// happens twice.
//
// usage: web [TTL]                 how long a job may wait before its hold expires, such as '1 hour'
#include <iostream>
#include <sstream>

#include "database.h"

namespace {

struct Request {
  std::string user;
  std::string cost;
  std::string job;
};

// Thrown to roll the transaction back: an answer that is rolled back is not remembered either, so the same job may be
// asked for again once there is room.
struct Denied {
  std::string retry_after;
};

void enqueue(Database& database, const Request& request, const std::string& ttl) {
  database.in_transaction([&] {
    const Row answer = database
                           .run("select allowed, retry_after from mete.hold('credits', $1, $2, $3, tag => $4)",
                                {request.user, request.cost, ttl, request.job})
                           .front();
    if (answer[0] != "t") throw Denied{answer[1].value_or("never")};
    database.run("insert into jobs (id, owner, cost) values ($1, $2, $3) on conflict do nothing",
                 {request.job, request.user, request.cost});
  });
}

std::string answer_to(Database& database, const std::string& line, const std::string& ttl) {
  std::istringstream words(line);
  std::string verb;
  Request request;
  words >> verb >> request.user >> request.cost;
  if (verb != "enqueue" || request.cost.empty()) return "400 this is no request: enqueue USER COST [JOB]";
  if (!(words >> request.job)) request.job = *database.run("select gen_random_uuid()")[0][0];
  try {
    enqueue(database, request, ttl);
    return "201 " + request.job;
  } catch (const Denied& denied) {
    return "429 retry after " + denied.retry_after;
  } catch (const SqlError& error) {
    // The same job with another user or cost; or what is no number, no name, no credit at all.
    if (error.state() == "MT006") return std::string("409 ") + error.what();
    if (error.state() == "MT001" || error.state().starts_with("22")) return std::string("400 ") + error.what();
    throw;
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    Database database;
    const std::string ttl = count > 1 ? words[1] : "1 hour";
    database.run("select $1::interval", {ttl});  // a bad one is told now, and not at the first request
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << answer_to(database, line, ttl) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << "web: " << error.what() << '\n';
    return 1;
  }
}
