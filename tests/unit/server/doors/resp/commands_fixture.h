// CommandsTest: a server, a client, and exchanges that are expected between them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/server/doors/resp/resp_fixture.h"

namespace mete::server::testing {

class CommandsTest : public RespServerFixture {
 protected:
  struct Exchange {
    std::string request;
    std::string reply;
  };

  // HELLO's own answer is looked at elsewhere.
  void expect(const std::vector<Exchange>& exchanges) {
    for (const Exchange& exchange : exchanges) {
      const std::string reply = client.ask(exchange.request);
      if (exchange.request != "HELLO 3") {
        EXPECT_EQ(reply, exchange.reply) << exchange.request;
      }
    }
  }

  RespClient client = connect();
};

}  // namespace mete::server::testing
