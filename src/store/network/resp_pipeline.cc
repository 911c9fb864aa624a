#include "store/network/resp_pipeline.h"

#include <utility>

#include "base/try.h"

namespace mete::store {

Result<std::shared_ptr<RespTurn>> RespPipeline::send(std::string_view bytes, std::size_t replies,
                                                     const net::Deadline& deadline) {
  if (failure_) return *failure_;
  auto turn = std::make_shared<RespTurn>(*this, replies);
  turns_.push_back(turn);
  unsent_.append(bytes);
  write(deadline);
  return turn;
}

Result<void> RespPipeline::write_added(const net::Deadline& deadline) {
  while (!unsent_.empty()) {
    const std::string bytes = std::exchange(unsent_, {});
    TRY(client_.send(bytes, deadline));
  }
  return {};
}

Result<wire::RespValue> RespTurn::next(const net::Deadline& deadline) {
  TRY(pipeline_.await(*this, deadline, [this] { return !arrived_.empty(); }));
  wire::RespValue reply = std::move(arrived_.front());
  arrived_.pop_front();
  return reply;
}

Result<void> RespPipeline::read_some(const net::Deadline& deadline) {
  TRY(client_.read_more(deadline));
  for (;;) {
    auto reply = TRY(client_.next());
    if (!reply) return {};
    if (turns_.empty()) return unavailable(address() + " replied to what was not asked");
    RespTurn& first = *turns_.front();
    first.arrived_.push_back(std::move(*reply));
    if (--first.missing_ > 0) continue;
    first.changed.notify_all();
    turns_.pop_front();
  }
}

}  // namespace mete::store
