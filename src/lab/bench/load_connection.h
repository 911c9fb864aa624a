// LoadConnection: one connection of the load generator: batches out, replies counted in. It never waits.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/errors.h"
#include "base/try.h"
#include "lab/bench/http_skimmer.h"
#include "lab/bench/requests.h"
#include "net/descriptor.h"
#include "wire/resp_skimmer.h"

namespace mete::lab {

class LoadConnection {
 public:
  // A server that falls so far behind gets nothing more on this connection until it has caught up.
  static constexpr std::size_t kBatchesInFlightMax = 1024;

  LoadConnection(net::Descriptor socket, bool is_http) : socket_(std::move(socket)) {
    if (is_http) skimmer_.emplace<HttpSkimmer>();
  }

  // What comes next on this connection.
  Operation operation = {};
  std::size_t step = 0;

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] bool is_idle() const { return in_flight_.empty(); }
  [[nodiscard]] bool has_room() const { return in_flight_.size() < kBatchesInFlightMax; }
  // The socket did not take everything: call send_rest() once it can be written to.
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }

  // `due_ns` is the time from which the latency of these requests counts.
  Result<void> send(std::string_view bytes, std::size_t requests, std::uint64_t due_ns);
  Result<void> send_rest();

  // Reads what is there, by way of `room`, and calls `on_reply` for each reply. Returns how many there were.
  template <class OnReply>
  Result<std::size_t> receive(std::span<char> room, OnReply&& on_reply) {
    const auto bytes = TRY(read_into(room));
    std::size_t replies = 0;
    const auto used = TRY(std::visit(
        [&](auto& skimmer) {
          return skimmer.skim(bytes, [&](const wire::SkimmedReply& reply) {
            ++replies;
            on_reply(reply);
          });
        },
        skimmer_));
    unread_ = bytes.substr(used);
    return replies;
  }

  // Counts these replies as answers to the oldest requests: calls `on_answered(due_ns, requests)` for each batch that
  // they belong to. Fails if nobody asked for them.
  template <class OnAnswered>
  Result<void> settle(std::size_t replies, OnAnswered&& on_answered) {
    while (replies > 0) {
      if (in_flight_.empty()) return base::invalid("the server sent a reply too many");
      Batch& batch = in_flight_.front();
      const std::size_t answered = replies < batch.missing ? replies : batch.missing;
      on_answered(batch.due_ns, answered);
      replies -= answered;
      batch.missing -= answered;
      if (batch.missing == 0) in_flight_.pop_front();
    }
    return {};
  }

 private:
  struct Batch {
    std::uint64_t due_ns = 0;
    std::size_t missing = 0;  // replies that are to come
  };

  // The bytes left over from last time and those that the socket has.
  Result<std::string_view> read_into(std::span<char> room);

  net::Descriptor socket_;
  std::variant<wire::ReplySkimmer, HttpSkimmer> skimmer_;
  std::deque<Batch> in_flight_;
  std::string unsent_;
  std::string unread_;  // the start of a reply's line, or of a response's head
};

}  // namespace mete::lab
