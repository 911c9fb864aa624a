#include "server/doors/http/decision.h"

#include <optional>
#include <string>

#include "base/math.h"
#include "server/doors/http/fields_and_answers.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::string_view kQuotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded";

// A string of structured fields (RFC 9651); none for a name that cannot be one.
std::optional<std::string> structured_string(std::string_view name) {
  std::string text = "\"";
  for (const char byte : name) {
    if (byte < 0x20 || byte >= 0x7F) return std::nullopt;
    if (byte == '"' || byte == '\\') text += '\\';
    text += byte;
  }
  return text += '"';
}

// The length of a window, in seconds; none if there is no such number.
std::optional<std::int64_t> window_seconds(const Limit& limit) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  if (limit.period() && limit.period()->ns() % kSecondNs == 0) return limit.period()->ns() / kSecondNs;
  if (limit.unit() == Unit::kHour) return 3'600;
  if (limit.unit() == Unit::kDay) return 86'400;
  if (limit.unit() == Unit::kWeek) return 7 * 86'400;
  return std::nullopt;
}

// The limit that a decision has gone by.
Result<std::optional<Limit>> limit_of(WakingStore& store, std::string_view name) {
  if (auto known = store.store().known_limit(name)) return known;
  return store.limit(name);
}

// What comes back in a window. A key's own amount scales the burst of a bucket, rounded up: so the capacity tells it,
// unless the burst is less than the amount, where several amounts have one capacity, or there is more than can be told.
Amount quota(WakingStore& store, const Charge& charge, const Limit& limit, Amount capacity) {
  if (!limit.burst()) return capacity;
  if (*limit.burst() >= limit.amount() && capacity < kAmountMax) {
    const auto scaled = base::multiply(base::to_unsigned(capacity), base::to_unsigned(limit.amount()));
    return base::saturate(base::div_floor(scaled, base::to_unsigned(*limit.burst())));
  }
  const auto own = store.override_of({charge.limit, charge.key});
  return own.has_value() && *own ? **own : limit.amount();
}

struct Standing {
  Amount remaining;
  Amount capacity;
  Duration reset_after;
};

Standing standing_of(const Usage& usage) { return {usage.remaining, usage.limit, usage.reset_after}; }

// With one charge the verdict is about it.
std::optional<Standing> standing_of(WakingStore& store, const HttpDecision& decision, std::size_t index) {
  const core::Verdict& verdict = decision.verdict;
  if (decision.charges.size() == 1) return Standing{verdict.remaining, verdict.limit, verdict.reset_after};
  if (decision.usages[index].limit > 0) return standing_of(decision.usages[index]);
  const Charge& charge = decision.charges[index];
  const auto usage = store.usage({charge.limit, charge.key});
  if (!usage) return std::nullopt;
  return standing_of(*usage);
}

struct PolicyHeaders {
  std::string policies;
  std::string standings;

  void add(const std::string& name, const Limit& limit, Amount quota, const Standing& standing) {
    const std::string separator = policies.empty() ? "" : ", ";
    policies += separator + name + ";q=" + std::to_string(quota);
    if (const auto seconds = window_seconds(limit)) policies += ";w=" + std::to_string(*seconds);
    standings += separator + name + ";r=" + std::to_string(standing.remaining);
    if (!standing.reset_after.is_never()) standings += ";t=" + std::to_string(standing.reset_after.seconds());
  }
};

void add_policy_headers(WakingStore& store, const HttpDecision& decision, wire::HttpResponse& response) {
  PolicyHeaders headers;
  for (std::size_t index = 0; index < decision.charges.size(); ++index) {
    const Charge& charge = decision.charges[index];
    const auto name = structured_string(charge.limit);
    if (!name) continue;
    // The limit may have gone since the decision: then there is nothing left to say about it.
    const auto limit = limit_of(store, charge.limit);
    const auto standing = standing_of(store, decision, index);
    if (!limit.has_value() || !*limit || !standing) continue;
    headers.add(*name, **limit, quota(store, charge, **limit, standing->capacity), *standing);
  }
  if (headers.policies.empty()) return;
  response.add_header("RateLimit-Policy", headers.policies);
  response.add_header("RateLimit", headers.standings);
}

// Unix seconds, rounded up.
std::int64_t reset_time(Instant now, Duration reset_after) {
  return base::saturate(base::div_ceil((now + reset_after).ns(), 1'000'000'000));
}

std::string denial_detail(const HttpDecision& decision, std::span<const std::string_view> violated) {
  std::string detail = "too little is left of ";
  for (const std::string_view name : violated) {
    if (name != violated.front()) detail += ", ";
    detail += wire::quote(name);
  }
  if (decision.verdict.retry_after.is_never()) return detail + "; no wait is enough";
  return detail + "; retry after " + std::to_string(decision.verdict.retry_after.ms()) + " ms";
}

}  // namespace

void add_decision_headers(WakingStore& store, const HttpDecision& decision, wire::HttpResponse& response) {
  const core::Verdict& verdict = decision.verdict;
  add_policy_headers(store, decision, response);
  response.add_header("X-RateLimit-Limit", verdict.limit);
  response.add_header("X-RateLimit-Remaining", verdict.remaining);
  if (!verdict.reset_after.is_never()) {
    response.add_header("X-RateLimit-Reset", reset_time(store.now(), verdict.reset_after));
  }
  if (verdict.is_unrecorded) response.add_header("Mete-Unrecorded", 1);
  if (!verdict.is_allowed && !verdict.retry_after.is_never()) {
    response.add_header("Retry-After", verdict.retry_after.seconds());
  }
}

void write_decision(const HttpDecision& decision, wire::JsonWriter& writer) {
  wire::write_decision(writer, decision.verdict, decision.charges, decision.tells_taken);
}

wire::HttpResponse denial(const HttpDecision& decision) {
  wire::HttpResponse response{.status = 429, .content_type = kProblemContentType};
  const auto violated = violated_limits(decision.charges, decision.verdict);
  wire::JsonWriter writer(response.body);
  writer.begin_object().member("type", kQuotaExceeded).member("title", "Quota exceeded");
  writer.member("status", std::int64_t{response.status}).member("detail", denial_detail(decision, violated));
  writer.texts("violated-policies", violated);
  write_decision(decision, writer);
  writer.end_object();
  return response;
}

// A peek decides nothing.
wire::HttpResponse take_answer(WakingStore& store, DecisionObserver& observer, const core::Take& take,
                               const core::Verdict& verdict) {
  if (take.mode != Mode::kPeek) observer.on_decision(take.charges, verdict.is_allowed, verdict.violated);
  const HttpDecision decision = {verdict, take.charges, take.mode == Mode::kUpTo, take.usages};
  auto response = verdict.is_allowed ? json_answer([&](wire::JsonWriter& writer) { write_decision(decision, writer); })
                                     : denial(decision);
  add_decision_headers(store, decision, response);
  return response;
}

}  // namespace mete::server
