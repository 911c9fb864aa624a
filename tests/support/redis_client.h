// RedisClient: a connection to a Redis on this machine, for what tests ask of it beside the store.
//
//     RedisClient client(server.port());
//     client.call({"CONFIG", "SET", "maxmemory", "2mb"});
//
// An answer that does not come within ten seconds is an exception, by which the test fails. An error reply is a value.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "net/descriptor.h"
#include "wire/resp_reply.h"

namespace mete::support {

class RedisClient {
 public:
  explicit RedisClient(std::uint16_t port);

  wire::RespValue call(std::span<const std::string_view> words);
  wire::RespValue call(std::initializer_list<std::string_view> words) {
    return call(std::span<const std::string_view>(words.begin(), words.size()));
  }

 private:
  std::string where_;
  net::Descriptor socket_;
  wire::ReplyParser parser_;
};

}  // namespace mete::support
