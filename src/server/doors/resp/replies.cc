#include "server/doors/resp/replies.h"

#include "server/observation/metrics.h"

namespace mete::server {

void write_decision(wire::RespWriter& reply, std::span<const Charge> charges, Mode mode, const core::Verdict& verdict) {
  const std::int64_t allowed = mode == Mode::kUpTo ? verdict.taken : verdict.is_allowed ? 1 : 0;
  const std::int64_t retry_after_ms = verdict.is_allowed ? 0 : verdict.retry_after.ms();
  reply.integers_first(6, allowed, verdict.remaining, verdict.limit, retry_after_ms, verdict.reset_after.ms());
  if (verdict.violated == 0) {
    reply.array(0);
  } else {
    write_violated(reply, charges, verdict);
  }
}

void answer_take(wire::RespWriter& reply, LoopMetrics& metrics, const core::Take& request,
                 const Result<core::Verdict>& verdict) {
  if (!verdict.has_value()) {
    reply.error(verdict.error());
    return;
  }
  note_decision(metrics, request.charges, *verdict);
  write_decision(reply, request.charges, request.mode, *verdict);
}

void note_decision(LoopMetrics& metrics, std::span<const Charge> charges, const core::Verdict& verdict) {
  metrics.on_decision(charges, verdict.is_allowed, verdict.violated);
}

void write_violated(wire::RespWriter& reply, std::span<const Charge> charges, const core::Verdict& verdict) {
  const core::LimitNames names = core::violated_limits(charges, verdict);
  reply.array(names.size());
  for (const std::string_view name : names) reply.bulk(name);
}

void write_settlement(wire::RespWriter& reply, const Result<Settlement>& settlement) {
  if (!settlement) {
    reply.error(settlement.error());
    return;
  }
  reply.integers(settlement->amount, settlement->remaining, settlement->limit);
}

void write_strings(wire::RespWriter& reply, std::span<const std::string> strings) {
  reply.array(strings.size());
  for (const std::string& string : strings) reply.bulk(string);
}

void write_fields(wire::RespWriter& reply, std::span<const wire::NamedValue> fields) {
  for (const wire::NamedValue& field : fields) {
    reply.bulk(field.name);
    if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      reply.integer(*number);
    } else if (const auto* text = std::get_if<std::string>(&field.value)) {
      reply.bulk(*text);
    } else {
      reply.integer(std::get<bool>(field.value) ? 1 : 0);
    }
  }
}

}  // namespace mete::server
