// TAKE, PEEK, GIVE, USAGE, RECONCILE.
#include "server/decisions/wait_queue.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/service.h"
#include "server/running/waited_answer.h"
#include "server/running/worker.h"

namespace mete::server::commands {

namespace {

// The arguments of TAKE, in the order of their declaration.
enum TakeArgument : std::uint8_t { kTakeId = 1, kTakeForce, kTakeUpTo, kTakeWait };
enum GiveArgument : std::uint8_t { kGiveId = 1 };
enum MeterArgument : std::uint8_t { kMeterLimit, kMeterKey, kMeterUsed };

store::MeterName meter_of(const Arguments& arguments) {
  return {arguments.text(kMeterLimit), arguments.text(kMeterKey)};
}

Mode mode_of(const Arguments& arguments) {
  if (arguments.has(kTakeForce)) return Mode::kForce;
  if (arguments.has(kTakeUpTo)) return Mode::kUpTo;
  return Mode::kTake;
}

// The reply comes when the take fits, or when the time is over.
void take_waiting(CommandContext& context, const core::Take& request, Duration patience) {
  RespSession& session = *context.session;
  auto waiter = std::make_shared<const WaitQueue::Waiter>(request, patience);
  const auto deliver = [&service = context.service, &worker = session.worker(), id = session.client().id,
                        version = session.version(),
                        waiter](const Result<core::Verdict>& verdict, store::Ticket ticket) {
    base::Output output;
    wire::RespWriter reply(output, version);
    const core::Take taken = waiter->request();
    LoopMetrics& metrics = service.workers[0]->metrics;  // of the loop that the queue is on
    answer_take(reply, metrics, taken, verdict);
    if (reply.errors() > 0) metrics.command_errors.add();
    answer_waited(service.waits, worker, id, {waiter, verdict, {std::string(output.view()), ticket}});
  };
  session.block_waiting();
  context.service.waits.wait({session.client().id, session.client().source}, waiter, deliver);
}

// Whoever asks again by an id has no need to wait, and bad arguments are told at once.
void take_or_wait(CommandContext& context, const core::Take& request, Duration patience) {
  const auto known = context.store.recall(request);
  if (has_failed(context, known)) return;
  if (*known) {
    answer_take(context.reply, context.metrics, request, **known);
    return;
  }
  const auto look = context.store.take({request.charges, Mode::kPeek, {}});
  if (has_failed(context, look)) return;
  take_waiting(context, request, patience);
}

}  // namespace

bool refuses_empty_id(CommandContext& context, std::size_t index) {
  const bool is_empty = context.arguments.has(index) && context.arguments.text(index).empty();
  if (is_empty) context.reply.error("ERR", "id must not be empty");
  return is_empty;
}

void take(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  core::Take request{arguments.charges(), mode_of(arguments)};
  if (refuses_empty_id(context, kTakeId) || refuses_force(context, request.mode)) return;
  request.id = arguments.text_or(kTakeId, {});
  if (arguments.has(kTakeWait) && arguments.duration(kTakeWait).ns() > 0) {
    take_or_wait(context, request, arguments.duration(kTakeWait));
    return;
  }
  answer_take(context.reply, context.metrics, request, context.store.take(request));
}

void peek(CommandContext& context) {
  const std::span<const Charge> charges = context.arguments.charges();
  const auto verdict = context.store.take({charges, Mode::kPeek, {}});
  if (has_failed(context, verdict)) return;
  write_decision(context.reply, charges, Mode::kPeek, *verdict);
}

void give(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  if (refuses_empty_id(context, kGiveId) || refuses_give(context)) return;
  write_settlement(context.reply, context.store.give(arguments.charges(), arguments.text_or(kGiveId, {})));
}

void usage(CommandContext& context) {
  const auto usage = context.store.usage(meter_of(context.arguments));
  if (has_failed(context, usage)) return;
  context.reply.integers(usage->used, usage->held, usage->remaining, usage->limit, usage->reset_after.ms());
}

void reconcile(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  const auto result = context.store.reconcile(meter_of(arguments), arguments.integer(kMeterUsed));
  if (has_failed(context, result)) return;
  context.reply.integers(result->used_before, result->used_now);
}

}  // namespace mete::server::commands
