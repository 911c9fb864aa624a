// envoy.service.ratelimit.v3, and Kuadrant's service by the same rules: one request is one decision over all of its
// descriptors. A refusal charges nothing.
//
//     descriptors ── match ──▶ rules and keys ── Take, all or nothing ──▶ a status each, and one answer for all
//
// What the store does not know yet is defined first, beside the event loops. What one Take cannot say is asked before
// it by a peek: descriptors with no hits only look; of those with quota_mode all must be over before the request is; a
// rule of 0 lets nobody through. docs/envoy.md has the rules for users.
#include <algorithm>
#include <deque>
#include <limits>

#include "base/random.h"
#include "server/doors/grpc/handlers.h"
#include "server/envoy/match.h"
#include "server/envoy/rule_book.h"
#include "store/caller.h"

namespace mete::server {

namespace {

using proto::DescriptorStatus;
using proto::RateLimitCode;

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

std::uint32_t saturated(Amount amount) { return static_cast<std::uint32_t>(std::clamp<Amount>(amount, 0, kMost)); }

// Rounded up to seconds: Envoy cuts off what is less than one, and whoever waits that long has to be admitted.
proto::ProtoDuration duration_of(Duration length) { return {length.seconds(), 0}; }

// One descriptor of the request.
struct Part {
  const envoy::Rule* rule = nullptr;  // none: nothing limits it
  std::string key = {};
  bool is_own = false;  // the request has brought the limit
  Amount hits = 1;
  bool is_negative = false;
  bool is_left_out = false;  // a quota that is over while another one is not
  bool is_over = false;
  std::optional<Usage> usage = {};

  [[nodiscard]] bool is_limited() const { return rule != nullptr && rule->limit.has_value(); }
  [[nodiscard]] bool is_blocked() const { return rule != nullptr && rule->is_blocked() && !is_negative; }
  [[nodiscard]] bool is_looked_at() const { return is_limited() && !is_negative; }
  [[nodiscard]] bool is_given_back() const { return is_limited() && is_negative && hits > 0; }
  [[nodiscard]] bool is_charged() const { return is_looked_at() && hits > 0 && !is_left_out; }
};

class Decider {
 public:
  Decider(GrpcContext& context, envoy::RuleBook& book, std::shared_ptr<const envoy::Rules> rules)
      : context_(context), book_(book), rules_(std::move(rules)) {}

  Result<void, GrpcFailure> read(const envoy::Level& domain, const proto::RateLimitRequest& request) {
    std::vector<std::vector<envoy::Entry>> entries(request.descriptors.size());
    std::vector<envoy::DescriptorAsked> asked(request.descriptors.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto& descriptor = request.descriptors[i];
      for (const auto& entry : descriptor.entries) entries[i].push_back({entry.key, entry.value});
      asked[i].entries = entries[i];
      if (!descriptor.limit) continue;
      const auto unit = static_cast<std::int32_t>(descriptor.limit->unit);
      if (unit < 1 || unit > static_cast<std::int32_t>(envoy::RateUnit::kWeek)) {
        return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "limit: there is no unit " + std::to_string(unit)};
      }
      asked[i].limit = {descriptor.limit->requests_per_unit, static_cast<envoy::RateUnit>(unit)};
    }
    auto matches = envoy::match_all(domain, asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      Part part{.rule = matches[i].rule, .key = std::move(matches[i].key)};
      if (asked[i].limit) {
        part.rule = &own_.emplace_back(envoy::rule_of(request.domain, asked[i].entries, *asked[i].limit));
        part.key = envoy::key_of_all(asked[i].entries);
        part.is_own = true;
      }
      if (!add_hits(request, request.descriptors[i], part)) {
        return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "hits_addend must be at most 9007199254740991"};
      }
      parts_.push_back(std::move(part));
    }
    const Doorkeeper* const doorkeeper = context_.hooks.doorkeeper;
    const bool gives = std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.is_given_back(); });
    if (gives && doorkeeper != nullptr && !doorkeeper->may_give(context_.role)) return grpc_refuse_give();
    const auto limited =
        std::count_if(parts_.begin(), parts_.end(), [](const Part& part) { return part.is_limited(); });
    if (limited <= static_cast<std::ptrdiff_t>(kChargesMax)) return {};
    return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "a request has at most " + std::to_string(kChargesMax) +
                                                               " descriptors with a limit, not " +
                                                               std::to_string(limited)};
  }

  // What has to be seen to in the store before it can decide; none: nothing.
  std::optional<GrpcFailure> preparation() {
    std::vector<const Part*> unknown;
    for (const Part& part : parts_) {
      if (part.is_limited() && !is_known(part)) unknown.push_back(&part);
    }
    return unknown.empty() ? std::nullopt : std::optional(prepare(unknown));
  }
  // The same for all, after the store did not know a limit.
  GrpcFailure preparation_of_all() {
    std::vector<const Part*> limited;
    for (const Part& part : parts_) {
      if (part.is_limited()) limited.push_back(&part);
    }
    return prepare(limited);
  }

  // Decides, and charges what is admitted.
  Result<void> decide() {
    const auto asks_first = [](const Part& part) {
      return part.is_blocked() || (part.is_looked_at() && (part.hits == 0 || part.rule->is_quota));
    };
    if (std::any_of(parts_.begin(), parts_.end(), asks_first)) {
      TRY(take(Mode::kPeek, &Part::is_looked_at));
      is_over_ = is_over_all();
      // What is refused by a look is a denial as any other.
      if (is_over_) context_.observer.on_decision(asked_, false, 0);
    }
    if (!is_over_) {
      TRY(take(Mode::kTake, &Part::is_charged));
      is_over_ = is_over_ || is_denied_;
    }
    if (is_over_) return record();
    return give();
  }

  // Whether it would be admitted; nothing is charged.
  Result<void> look() {
    TRY(take(Mode::kPeek, &Part::is_looked_at));
    is_over_ = is_over_all();
    if (is_over_) context_.observer.on_decision(asked_, false, 0);
    return {};
  }

  // Charges what has happened already, past the limits if need be.
  Result<void> report() { return take(Mode::kForce, &Part::is_charged); }

  // Sets the hits aside, all or nothing.
  Result<proto::ReserveResponse> reserve(Duration ttl) {
    asked_.clear();
    for (const Part& part : parts_) {
      if (part.is_blocked()) return proto::ReserveResponse{RateLimitCode::kOverLimit, {}};
      if (part.is_charged()) asked_.push_back({part.rule->limit->name(), part.key, part.hits});
    }
    if (asked_.empty()) return proto::ReserveResponse{RateLimitCode::kOk, {}};
    std::string id = base::random_id();
    const auto verdict = TRY(context_.store.hold({.charges = asked_, .ttl = ttl, .id = id, .is_id_random = true}));
    context_.observer.on_decision(asked_, verdict.is_allowed, verdict.violated);
    if (!verdict.is_allowed) return proto::ReserveResponse{RateLimitCode::kOverLimit, {}};
    return proto::ReserveResponse{RateLimitCode::kOk, std::move(id)};
  }

  [[nodiscard]] proto::RateLimitResponse answer() const {
    proto::RateLimitResponse response;
    response.overall_code = is_over_ ? RateLimitCode::kOverLimit : RateLimitCode::kOk;
    for (const Part& part : parts_) response.statuses.push_back(status_of(part));
    if (context_.hooks.adds_response_headers) add_headers(response);
    return response;
  }

 private:
  static bool add_hits(const proto::RateLimitRequest& request, const proto::RateLimitDescriptor& descriptor,
                       Part& part) {
    const std::uint64_t hits =
        descriptor.hits_addend ? descriptor.hits_addend->value : std::max(request.hits_addend, std::uint32_t{1});
    if (hits > static_cast<std::uint64_t>(kAmountMax)) return false;
    part.hits = static_cast<Amount>(hits);
    part.is_negative = descriptor.is_negative_hits;
    return true;
  }

  // One operation over the parts that `is_meant`; none are a yes. A peek of no hits asks for one.
  Result<void> take(Mode mode, bool (Part::*is_meant)() const) {
    std::vector<Part*> meant;
    std::vector<Charge>& charges = asked_;
    charges.clear();
    for (Part& part : parts_) {
      if (!(part.*is_meant)()) continue;
      meant.push_back(&part);
      charges.push_back({part.rule->limit->name(), part.key, std::max(part.hits, Amount{mode == Mode::kPeek ? 1 : 0})});
    }
    is_denied_ = false;
    if (charges.empty()) return {};
    std::vector<Usage> usages(charges.size());
    core::Take operation{.charges = charges, .mode = mode, .usages = usages};
    const auto verdict = context_.store.take(operation);
    if (!verdict.has_value()) return verdict.error();
    is_denied_ = !verdict->is_allowed;
    retry_after_ = verdict->retry_after;
    for (std::size_t i = 0; i < meant.size(); ++i) {
      meant[i]->usage = usages[i];
      look_at_amount(*meant[i]);
      // A peek tells how it would be; what nothing is charged for stays as it is.
      if (mode == Mode::kPeek && verdict->is_allowed) meant[i]->usage->remaining += charges[i].cost;
      meant[i]->is_over = verdict->is_violated_by(i) && !meant[i]->rule->is_shadow;
    }
    if (mode != Mode::kPeek) context_.observer.on_decision(charges, verdict->is_allowed, verdict->violated);
    return {};
  }

  // Whether the store has its limit; and the key its amount, where the request has brought that.
  bool is_known(const Part& part) {
    const Limit& limit = *part.rule->limit;
    if (!part.is_own) return part.rule->is_defined.get();
    envoy::OwnLimits& own = book_.own_limits();
    if (own.has(limit.name(), part.key, limit.amount())) return true;
    const auto usage = context_.store.usage({limit.name(), part.key});
    if (!usage.has_value() || usage->limit != limit.amount()) return false;
    own.note(limit.name(), part.key, limit.amount());
    return true;
  }

  GrpcFailure prepare(const std::vector<const Part*>& unknown) {
    std::vector<const envoy::Rule*> rules;
    std::vector<std::pair<Limit, std::string>> own;
    for (const Part* const part : unknown) {
      if (part->is_own) {
        own.emplace_back(*part->rule->limit, part->key);
      } else {
        rules.push_back(part->rule);
      }
    }
    // `keeper` keeps the rules, which may be replaced meanwhile.
    return {.preparation = [&book = book_, keeper = rules_, rules, own](store::Store& store) -> Result<void> {
      store::Execution execution = {.waits_for_disk = false};
      for (const envoy::Rule* const rule : rules) {
        TRY(store::Caller(store, execution).define(*rule->limit));
        rule->is_defined.set(true);
      }
      for (const auto& [limit, key] : own) TRY(book.own_limits().see_to(store, limit, key));
      return {};
    }};
  }

  // Somebody else may have changed a key's amount: the next request sees to that.
  void look_at_amount(const Part& part) {
    const Limit& limit = *part.rule->limit;
    if (part.is_own && part.usage->limit != limit.amount()) book_.own_limits().forget(limit.name(), part.key);
  }

  // By what a peek has told. Where some quotas are over and others are not, the request passes, and those are left out.
  bool is_over_all() {
    bool is_over = false;
    std::size_t quotas = 0;
    std::size_t quotas_over = 0;
    for (Part& part : parts_) {
      part.is_over = part.is_over || part.is_blocked();
      if (part.rule == nullptr || part.is_negative) continue;
      if (!part.rule->is_quota) {
        is_over = is_over || part.is_over;
      } else {
        ++quotas;
        quotas_over += part.is_over ? 1 : 0;
      }
    }
    if (is_over || (quotas > 0 && quotas == quotas_over)) return true;
    for (Part& part : parts_) part.is_left_out = part.is_over;
    return false;
  }

  // What comes after the fact is charged all the same where the rules that are over say so.
  Result<void> record() {
    const bool records = std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
      return !part.is_over || part.rule->on_over == envoy::OnOver::kRecord;
    });
    if (!records) return {};
    std::vector<Charge> charges;
    for (const Part& part : parts_) {
      if (part.is_charged()) charges.push_back({part.rule->limit->name(), part.key, part.hits});
    }
    if (charges.empty()) return {};
    const auto recorded = context_.store.take({.charges = charges, .mode = Mode::kForce});
    return recorded.has_value() ? Result<void>() : recorded.error();
  }

  Result<void> give() {
    std::vector<Charge> charges;
    for (const Part& part : parts_) {
      if (!part.is_given_back()) continue;
      charges.push_back({part.rule->limit->name(), part.key, part.hits});
    }
    if (charges.empty()) return {};
    const auto given = context_.store.give(charges, {});
    // Of a limit that somebody has dropped since nothing is used.
    return given.has_value() || given.error().code == ErrorCode::kNoLimit ? Result<void>() : given.error();
  }

  // Of the descriptor with the least left, by the names that envoyproxy/ratelimit has for them.
  static void add_headers(proto::RateLimitResponse& response) {
    const DescriptorStatus* tightest = nullptr;
    for (const DescriptorStatus& each : response.statuses) {
      const bool is_tighter = tightest == nullptr || each.limit_remaining < tightest->limit_remaining;
      if (each.current_limit && is_tighter) tightest = &each;
    }
    if (tightest == nullptr) return;
    const std::int64_t reset_s = tightest->duration_until_reset.value_or(proto::ProtoDuration()).seconds;
    response.response_headers_to_add = {{"RateLimit-Limit", std::to_string(tightest->current_limit->requests_per_unit)},
                                        {"RateLimit-Remaining", std::to_string(tightest->limit_remaining)},
                                        {"RateLimit-Reset", std::to_string(reset_s)}};
  }

  [[nodiscard]] DescriptorStatus status_of(const Part& part) const {
    DescriptorStatus status{.code = part.is_over ? RateLimitCode::kOverLimit : RateLimitCode::kOk,
                            .current_limit = {},
                            .limit_remaining = 0,
                            .duration_until_reset = {}};
    if (part.rule == nullptr) return status;
    if (part.rule->is_unlimited) {
      status.limit_remaining = kMost;
      return status;
    }
    status.current_limit = {part.rule->requests_per_unit, part.rule->unit, part.rule->name};
    if (!part.usage) return status;
    status.limit_remaining = saturated(part.usage->remaining);
    const Duration until = part.is_over && retry_after_ > Duration() ? retry_after_ : part.usage->reset_after;
    if (!until.is_never() && until > Duration()) status.duration_until_reset = duration_of(until);
    return status;
  }

  GrpcContext& context_;
  envoy::RuleBook& book_;
  const std::shared_ptr<const envoy::Rules> rules_;
  std::deque<envoy::Rule> own_;  // of limits that the request brings
  std::vector<Part> parts_;
  std::vector<Charge> asked_;  // of the last operation
  bool is_denied_ = false;
  bool is_over_ = false;
  Duration retry_after_ = {};
};

// Reads the request, and lets `act` decide by the rules that it meets. `otherwise`: nobody knows the domain.
template <class Answer, class Act>
GrpcAnswer<Answer> by_rules(GrpcContext& context, const proto::RateLimitRequest& request, Answer otherwise, Act act) {
  envoy::RuleBook* const book = context.hooks.rules;
  const auto rules = book == nullptr ? nullptr : book->rules();
  if (rules == nullptr) {
    return GrpcFailure{wire::GrpcStatus::kFailedPrecondition,
                       "there are no rules: start the server with --envoy FOLDER, or set envoy.config"};
  }
  if (request.domain.empty()) return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "domain is empty"};
  if (request.descriptors.empty()) {
    return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "descriptors: there is none"};
  }
  const envoy::Level* const domain = rules->find_domain(request.domain);
  if (domain == nullptr) return otherwise;
  Decider decider(context, *book, rules);
  if (const auto read = decider.read(*domain, request); !read) return read.error();
  if (auto preparation = decider.preparation()) return *std::move(preparation);
  Result<Answer> answer = act(decider);
  if (answer.has_value()) return *std::move(answer);
  if (answer.error().code == ErrorCode::kNoLimit) return decider.preparation_of_all();
  return failure_of(answer.error());
}

proto::RateLimitResponse nobody_limits(const proto::RateLimitRequest& request) {
  return {RateLimitCode::kOk, std::vector<DescriptorStatus>(request.descriptors.size()), {}};
}

bool may_force(const GrpcContext& context) {
  const Doorkeeper* const doorkeeper = context.hooks.doorkeeper;
  return doorkeeper == nullptr || doorkeeper->may_force(context.role);
}

// Kuadrant's requests have one amount for all of their descriptors.
proto::RateLimitRequest request_of(const std::string& domain, std::vector<proto::RateLimitDescriptor> descriptors,
                                   std::uint64_t amount) {
  for (proto::RateLimitDescriptor& descriptor : descriptors) {
    descriptor.hits_addend = proto::UInt64Value{amount};
    descriptor.is_negative_hits = false;
  }
  return {domain, std::move(descriptors), 0};
}

// A reservation that has ended, or never was, is none: what was used is charged all the same.
bool is_gone(const Error& error) {
  return error.code == ErrorCode::kNoHold || error.code == ErrorCode::kExpired || error.code == ErrorCode::kMismatch;
}

// Ends the reservation by what was used of it, and charges what goes beyond it. False: there is none.
Result<bool> settle(GrpcContext& context, const std::string& id, Amount used) {
  const auto hold = TRY(context.store.find_hold(id));
  if (!hold || hold->state != HoldState::kHeld) return false;
  std::vector<Amount> amounts;
  std::vector<Charge> beyond;
  for (const HeldCharge& charge : hold->charges) {
    amounts.push_back(std::min(used, charge.amount));
    if (used > charge.amount) beyond.push_back({charge.limit, charge.key, used - charge.amount});
  }
  const auto settled = used == 0 ? context.store.cancel(id) : context.store.commit({.id = id, .amounts = amounts});
  if (!settled.has_value() && is_gone(settled.error())) return false;
  if (!settled.has_value()) return settled.error();
  if (!beyond.empty()) TRY(context.store.take({.charges = beyond, .mode = Mode::kForce}));
  return true;
}

}  // namespace

GrpcAnswer<proto::RateLimitResponse> grpc_should_rate_limit(GrpcContext& context,
                                                            const proto::RateLimitRequest& request) {
  return by_rules(context, request, nobody_limits(request), [](Decider& decider) -> Result<proto::RateLimitResponse> {
    TRY(decider.decide());
    return decider.answer();
  });
}

// --- kuadrant.service.ratelimit.v1 -----------------------------------------------------------------------------------

GrpcAnswer<proto::RateLimitResponse> grpc_check_rate_limit(GrpcContext& context,
                                                           const proto::RateLimitRequest& request) {
  return by_rules(context, request, nobody_limits(request), [](Decider& decider) -> Result<proto::RateLimitResponse> {
    TRY(decider.look());
    return decider.answer();
  });
}

GrpcAnswer<proto::RateLimitResponse> grpc_report(GrpcContext& context, const proto::RateLimitRequest& request) {
  if (!may_force(context)) return grpc_refuse_force();
  return by_rules(context, request, nobody_limits(request), [](Decider& decider) -> Result<proto::RateLimitResponse> {
    TRY(decider.report());
    return decider.answer();
  });
}

GrpcAnswer<proto::ReserveResponse> grpc_reserve(GrpcContext& context, const proto::ReserveRequest& request) {
  constexpr Duration kTtl = std::chrono::minutes(5);
  constexpr Duration kTtlMax = std::chrono::hours(24 * 366);
  const Duration ttl =
      request.ttl
          ? Duration(std::chrono::seconds(std::clamp<std::int64_t>(request.ttl->seconds, 0, kTtlMax.seconds()))) +
                Duration::from_ns(std::clamp(request.ttl->nanos, 0, 999'999'999))
          : kTtl;
  if (request.amount == 0 || ttl <= Duration()) {
    return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "amount and ttl must be more than 0"};
  }
  const auto asked = request_of(request.domain, request.descriptors, request.amount);
  return by_rules(context, asked, proto::ReserveResponse{RateLimitCode::kOk, {}},
                  [&](Decider& decider) { return decider.reserve(std::min(ttl, kTtlMax)); });
}

GrpcAnswer<proto::CommitResponse> grpc_commit_reservation(GrpcContext& context,
                                                          const proto::CommitReservationRequest& request) {
  if (!may_force(context)) return grpc_refuse_force();
  if (request.actual_amount > static_cast<std::uint64_t>(kAmountMax)) {
    return GrpcFailure{wire::GrpcStatus::kInvalidArgument, "actual_amount must be at most 9007199254740991"};
  }
  if (!request.reservation_id.empty()) {
    const auto settled = settle(context, request.reservation_id, static_cast<Amount>(request.actual_amount));
    if (!settled.has_value()) return failure_of(settled.error());
    if (*settled) return proto::CommitResponse{true};
  }
  if (request.actual_amount == 0) return proto::CommitResponse{false};
  const auto asked = request_of(request.domain, request.descriptors, request.actual_amount);
  return by_rules(context, asked, proto::CommitResponse{false}, [](Decider& decider) -> Result<proto::CommitResponse> {
    TRY(decider.report());
    return proto::CommitResponse{false};
  });
}

}  // namespace mete::server
