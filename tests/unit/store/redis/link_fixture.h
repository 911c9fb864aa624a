// What the tests of links have in common: a link that is open, and one command on it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "store/redis/client/link.h"
#include "store/redis/scripts.h"
#include "support/waiting.h"

namespace mete::store::redis {

inline std::unique_ptr<Link> must_open(const std::string& url) {
  auto link = open_link(url, store_scripts());
  if (!link) throw std::runtime_error(link.error().message);
  return std::move(*link);
}

// With a time-out that is short on purpose: a busy machine may need it more than once.
inline std::unique_ptr<Link> open_when_calm(const std::string& url) {
  Result<std::unique_ptr<Link>> link;
  const bool is_open = support::becomes_true(std::chrono::seconds(20),
                                             [&] { return (link = open_link(url, store_scripts())).has_value(); });
  if (!is_open) throw std::runtime_error(link.error().message);
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

// The server refuses for now, by this word, and the link says so when its time-out is over. Where that falls between a
// request and its reply, the link cannot know the word: then it is asked once more. It is kUnavailable always.
inline void expect_refusal(Link& link, const std::string& word, std::initializer_list<std::string_view> words,
                           std::string_view routing_key = {}) {
  std::string why;
  EXPECT_TRUE(support::becomes_true(std::chrono::seconds(20), [&] {
    const auto reply = run_one(link, words, routing_key);
    why = text_of(reply);
    EXPECT_FALSE(reply.has_value()) << why;
    EXPECT_TRUE(reply.has_value() || reply.error().code == ErrorCode::kUnavailable) << why;
    return reply.has_value() || why.starts_with("failed: " + word);
  })) << why;
}

inline std::chrono::nanoseconds time_of(const auto& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::steady_clock::now() - start;
}

}  // namespace mete::store::redis
