// What the tests of links have in common: a link that is open, and one command on it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "store/redis/client/link.h"
#include "store/redis/scripts.h"

namespace mete::store::redis {

inline std::unique_ptr<Link> must_open(const std::string& url) {
  auto link = open_link(url, store_scripts());
  if (!link) throw std::runtime_error(link.error().message);
  return std::move(*link);
}

inline Result<wire::RespValue> run_one(Link& link, std::initializer_list<std::string_view> words,
                                       std::string_view routing_key = {}) {
  Batch batch;
  batch.add(routing_key, words);
  Replies replies;
  link.run(batch, replies);
  EXPECT_EQ(replies.size(), 1U);
  return std::move(replies[0]);
}

// The text of the reply, or why there is none.
inline std::string text_of(const Result<wire::RespValue>& reply) {
  if (!reply) return "failed: " + reply.error().message;
  return reply->type == wire::RespType::kInteger ? std::to_string(reply->integer) : reply->text;
}

inline std::chrono::nanoseconds time_of(const auto& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::steady_clock::now() - start;
}

}  // namespace mete::store::redis
