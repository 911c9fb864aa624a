#include "store/network/resp_pipeline.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/try.h"

namespace mete::store {

Result<std::shared_ptr<RespPipeline::Turn>> RespPipeline::send(std::string_view bytes, std::size_t replies,
                                                               const net::Deadline& deadline) {
  if (failure_) return *failure_;
  auto turn = std::make_shared<Turn>(*this, replies);
  turns_.push_back(turn);
  unsent_.append(bytes);
  // Whoever writes at the moment takes these along. What fails from here on is told by next(): it may have left.
  if (!is_writing_) std::ignore = write(deadline);
  return turn;
}

Result<void> RespPipeline::write(const net::Deadline& deadline) {
  is_writing_ = true;
  net::let_others_go_first();
  Result<void> sent;
  while (!unsent_.empty() && sent && !failure_) {
    const std::string bytes = std::exchange(unsent_, {});
    sent = client_.send(bytes, deadline);
  }
  is_writing_ = false;
  if (!sent) fail(sent.error());
  return sent;
}

Result<wire::RespValue> RespPipeline::Turn::next(const net::Deadline& deadline) {
  RespPipeline& pipeline = pipeline_;
  while (arrived_.empty()) {
    if (pipeline.failure_) return *pipeline.failure_;
    if (!pipeline.is_reading_) {
      TRY(pipeline.read(deadline));
      continue;
    }
    NoLock none;
    const auto may_go_on = [&] { return !arrived_.empty() || pipeline.failure_ || !pipeline.is_reading_; };
    if (!changed_.wait(none, deadline, may_go_on)) return pipeline.client_.no_answer(deadline);
  }
  wire::RespValue reply = std::move(arrived_.front());
  arrived_.pop_front();
  return reply;
}

// One read, for whoever it concerns. If it fails by the reader's deadline alone, the others go on.
Result<void> RespPipeline::read(const net::Deadline& deadline) {
  is_reading_ = true;
  auto done = client_.read_more(deadline);
  is_reading_ = false;
  if (done) done = hand_out();
  if (!done && !deadline.is_over()) fail(done.error());
  let_next_read();
  return done;
}

Result<void> RespPipeline::hand_out() {
  for (;;) {
    auto reply = client_.next();
    if (!reply.has_value()) {
      fail(reply.error());
      return reply.error();
    }
    if (!reply->has_value()) return {};
    if (turns_.empty()) {
      fail(base::unavailable(client_.address().to_string() + " replied to what was not asked"));
      return *failure_;
    }
    Turn& first = *turns_.front();
    first.arrived_.push_back(std::move(**reply));
    if (--first.missing_ > 0) continue;
    first.changed_.notify_all();
    turns_.pop_front();
  }
}

// The first in the line who is waiting. Where nobody is, whoever comes to wait reads.
void RespPipeline::let_next_read() {
  const auto next = std::ranges::find_if(turns_, [](const auto& turn) { return turn->changed_.is_awaited(); });
  if (next != turns_.end()) (*next)->changed_.notify_all();
}

void RespPipeline::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  for (const auto& turn : turns_) turn->changed_.notify_all();
}

}  // namespace mete::store
