// How a take that has waited is answered, whatever door it came by.
#pragma once

#include <memory>
#include <utility>

#include "server/decisions/wait_queue.h"
#include "server/running/worker.h"

namespace mete::server {

struct WaitedAnswer {
  std::shared_ptr<const WaitQueue::Waiter> waiter;
  const Result<core::Verdict>& verdict;
  Worker::Answer answer;
};

// Sends the answer to the client, from any thread. If it has gone, nobody is left to use what was taken, and it is
// given back; but with an id, the client can ask for its answer again.
inline void answer_waited(WaitQueue& waits, Worker& worker, std::uint64_t client, WaitedAnswer waited) {
  const bool is_taken = waited.verdict.has_value() && waited.verdict->is_allowed;
  if (!is_taken || !waited.waiter->request().id.empty()) return worker.answer(client, std::move(waited.answer));
  worker.answer(client, std::move(waited.answer),
                [&waits, &worker, waiter = std::move(waited.waiter), up_to = waited.verdict->taken] {
                  worker.run_waiting([&waits, waiter, up_to] { waits.give_back(*waiter, up_to); });
                });
}

}  // namespace mete::server
