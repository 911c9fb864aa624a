// Replies that several commands share.
#pragma once

#include <mete/decision.h>

#include <span>

#include "core/operations.h"
#include "core/verdict.h"
#include "wire/named_value.h"
#include "wire/resp_writer.h"

namespace mete::server {

class LoopMetrics;

// [allowed, remaining, limit, retry_after_ms, reset_after_ms, [violated]]; `allowed` is the amount taken with UPTO.
void write_decision(wire::RespWriter& reply, std::span<const Charge> charges, Mode mode, const core::Verdict& verdict);
// The answer to a take, counted as a decision; or why there is none.
void answer_take(wire::RespWriter& reply, LoopMetrics& metrics, const core::Take& request,
                 const Result<core::Verdict>& verdict);
void note_decision(LoopMetrics& metrics, std::span<const Charge> charges, const core::Verdict& verdict);
// The limits that did not fit, each once.
void write_violated(wire::RespWriter& reply, std::span<const Charge> charges, const core::Verdict& verdict);
// [amount, remaining, limit]
void write_settlement(wire::RespWriter& reply, const Result<Settlement>& settlement);
void write_strings(wire::RespWriter& reply, std::span<const std::string> strings);
// Name and value in turn, within a map that was begun; what is true is 1.
void write_fields(wire::RespWriter& reply, std::span<const wire::NamedValue> fields);

}  // namespace mete::server
