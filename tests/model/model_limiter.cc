#include "model/model_limiter.h"

#include <algorithm>
#include <set>

#include "base/try.h"
#include "model/model_checks.h"

namespace mete::model {

namespace {

constexpr Wide kRetention = Wide{24} * 3600 * 1'000'000'000;

std::string parameters_of(std::string_view kind, std::span<const Charge> charges) {
  std::string text(kind);
  for (const Charge& charge : charges) {
    text += "|" + std::string(charge.limit) + "|" + std::string(charge.key) + "|" + std::to_string(charge.cost);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> names_of(std::span<const Charge> charges) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Charge& charge : charges) names.emplace_back(charge.limit, charge.key);
  return names;
}

}  // namespace

// ---- time

void ModelLimiter::pass() {
  const Wide target = std::max(now_, Wide{clock_.now().ns()});
  while (true) {
    Hold* next = nullptr;
    for (auto& [id, hold] : holds_) {
      if (hold.state != HoldState::kHeld || hold.expires_at > target) continue;
      if (next == nullptr || hold.expires_at < next->expires_at) next = &hold;
    }
    if (next == nullptr) break;
    now_ = std::max(now_, next->expires_at);
    expire(*next);
  }
  now_ = target;
  forget();
}

void ModelLimiter::expire(Hold& hold) {
  for (const Part& part : hold.parts) come_back(part, part.charged);
  hold.state = HoldState::kExpired;
  hold.finished_at = hold.expires_at;
}

// A hold is remembered as long as it is open, and then as an operation is.
void ModelLimiter::forget() {
  std::erase_if(holds_, [this](const auto& entry) {
    const Hold& hold = entry.second;
    return hold.state != HoldState::kHeld && hold.finished_at + kRetention <= now_;
  });
  std::erase_if(remembered_, [this](const auto& entry) {
    return !holds_.contains(entry.first) && entry.second.at + kRetention <= now_;
  });
}

// ---- meters

Terms ModelLimiter::terms(const MeterName& name) const {
  const auto found = overrides_.find(name);
  const auto amount = found == overrides_.end() ? std::nullopt : std::optional(found->second);
  return terms_of(limits_.at(name.first), amount);
}

ModelMeter& ModelLimiter::meter(const MeterName& name) {
  auto& found = meters_.try_emplace(name, terms(name), now_).first->second;
  found.pass_to(now_);
  return found;
}

// What is held goes on as if it were made now, with what of it would come back.
void ModelLimiter::redefine(const MeterName& name) {
  ModelMeter& redefined = meter(name);
  if (!redefined.goes_on_under(terms(name))) {
    for (auto& [id, hold] : holds_) {
      if (hold.state != HoldState::kHeld) continue;
      for (Part& part : hold.parts) {
        if (part.meter != name || !part.is_held) continue;
        part.charged = redefined.surely_comes_back(part.charged, part.made_at);
        part.made_at = now_;
      }
    }
  }
  redefined.redefine(terms(name));
}

void ModelLimiter::come_back(const Part& part, Amount units) {
  if (part.is_held) meter(part.meter).come_back(units, part.made_at);
}

std::vector<OpenPart> ModelLimiter::open_parts(const MeterName& name) const {
  std::vector<OpenPart> parts;
  for (const auto& [id, hold] : holds_) {
    if (hold.state != HoldState::kHeld) continue;
    for (const Part& part : hold.parts) {
      if (part.meter == name && part.is_held) parts.push_back({part.charged, part.made_at, hold.expires_at});
    }
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.expires_at < b.expires_at; });
  return parts;
}

Amount ModelLimiter::held(const MeterName& name) {
  Wide sum = 0;
  for (const OpenPart& part : open_parts(name)) sum += meter(name).would_come_back(part.units, part.made_at);
  return static_cast<Amount>(std::min<Wide>(sum, meter(name).usage()));
}

Result<void> ModelLimiter::check_known(std::span<const Charge> charges) const {
  for (const Charge& charge : charges) {
    if (!limits_.contains(std::string(charge.limit))) return refuse(ErrorCode::kNoLimit);
  }
  return {};
}

std::optional<ModelLimiter::MeterName> ModelLimiter::tightest(const std::vector<MeterName>& names) {
  const bool all_shadow = std::all_of(names.begin(), names.end(), [this](const auto& name) { return is_shadow(name); });
  std::optional<MeterName> least;
  for (const MeterName& name : names) {
    if (is_shadow(name) && !all_shadow) continue;
    if (!least || meter(name).remaining() < meter(*least).remaining()) least = name;
  }
  return least;
}

// ---- definitions

Result<void> ModelLimiter::define(const Limit& limit) {
  pass();
  if (!is_valid_limit(limit)) return refuse(ErrorCode::kInvalid);
  limits_.insert_or_assign(limit.name(), limit);
  for (auto& [name, unused] : meters_) {
    if (name.first == limit.name()) redefine(name);
  }
  return {};
}

Result<bool> ModelLimiter::drop(std::string_view name) {
  pass();
  if (!is_valid_name(name)) return refuse(ErrorCode::kInvalid);
  const std::string limit(name);
  if (limits_.erase(limit) == 0) return false;
  std::erase_if(meters_, [&](const auto& entry) { return entry.first.first == limit; });
  std::erase_if(overrides_, [&](const auto& entry) { return entry.first.first == limit; });
  for (auto& [id, hold] : holds_) {
    for (Part& part : hold.parts) part.is_held = part.is_held && part.meter.first != limit;
  }
  return true;
}

Result<std::vector<std::string>> ModelLimiter::limits() {
  pass();
  std::vector<std::string> names;
  for (const auto& [name, limit] : limits_) names.push_back(name);
  return names;
}

Result<void> ModelLimiter::override_amount(std::string_view limit, std::string_view key, Amount amount) {
  pass();
  if (!is_valid_name(limit) || !is_valid_key(key) || !is_from_to(amount, 1)) return refuse(ErrorCode::kInvalid);
  const MeterName name(limit, key);
  if (!limits_.contains(name.first)) return refuse(ErrorCode::kNoLimit);
  (void)meter(name);  // as it is, before it changes
  overrides_[name] = amount;
  redefine(name);
  return {};
}

Result<void> ModelLimiter::clear_override(std::string_view limit, std::string_view key) {
  pass();
  if (!is_valid_name(limit) || !is_valid_key(key)) return refuse(ErrorCode::kInvalid);
  const MeterName name(limit, key);
  if (!limits_.contains(name.first)) return refuse(ErrorCode::kNoLimit);
  (void)meter(name);
  overrides_.erase(name);
  redefine(name);
  return {};
}

// ---- ids

template <class Answer>
Result<std::optional<Answer>> ModelLimiter::recall(std::string_view id, const std::string& parameters) {
  const auto found = remembered_.find(std::string(id));
  if (id.empty() || found == remembered_.end()) return std::optional<Answer>();
  if (found->second.parameters != parameters) return refuse(ErrorCode::kMismatch);
  return std::optional<Answer>(std::get<Answer>(found->second.answer));
}

template <class Answer>
void ModelLimiter::remember(std::string_view id, const std::string& parameters, const Answer& answer) {
  if (!id.empty()) remembered_.insert_or_assign(std::string(id), Remembered{parameters, now_, answer});
}

// ---- take, peek, give

ModelLimiter::Judgement ModelLimiter::judge_up_to(const Charge& charge) {
  const MeterName name(charge.limit, charge.key);
  Judgement judgement;
  Decision& decision = judgement.decision;
  const Amount taken = std::min(charge.cost, meter(name).remaining());
  decision.is_allowed = taken > 0;
  if (!decision.is_allowed) {
    decision.violated.push_back(name.first);
    decision.retry_after = meter(name).retry_after(1, open_parts(name));
  }
  meter(name).charge(taken);
  decision.taken = taken;
  judgement.charged = {taken};
  return judgement;
}

ModelLimiter::Judgement ModelLimiter::judge(std::span<const Charge> charges, Mode mode) {
  std::map<MeterName, Wide> totals;
  for (const Charge& charge : charges) totals[{std::string(charge.limit), std::string(charge.key)}] += charge.cost;
  const std::vector<MeterName> names = names_of(charges);
  std::vector<bool> fits;
  for (const MeterName& name : names) fits.push_back(mode == Mode::kForce || meter(name).fits(totals.at(name)));

  Judgement judgement;
  Decision& decision = judgement.decision;
  decision.is_allowed = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (fits[i]) continue;
    const bool is_named = std::count(decision.violated.begin(), decision.violated.end(), names[i].first) > 0;
    if (!is_named) decision.violated.push_back(names[i].first);
    if (is_shadow(names[i])) continue;
    decision.is_allowed = false;
    const Duration wait = meter(names[i]).retry_after(totals.at(names[i]), open_parts(names[i]));
    decision.retry_after = std::max(decision.retry_after, wait);
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Amount charged = decision.is_allowed && fits[i] ? charges[i].cost : 0;
    meter(names[i]).charge(charged);
    decision.taken += decision.is_allowed ? charges[i].cost : 0;
    judgement.charged.push_back(charged);
  }
  return judgement;
}

// Usage stays a number that can be told.
Result<void> ModelLimiter::check_total(std::span<const Charge> charges) {
  std::map<MeterName, Wide> totals;
  for (const Charge& charge : charges) totals[{std::string(charge.limit), std::string(charge.key)}] += charge.cost;
  for (const auto& [name, total] : totals) {
    if (meter(name).usage() + total > kAmountMax) return refuse(ErrorCode::kInvalid);
  }
  return {};
}

Result<Decision> ModelLimiter::take(std::span<const Charge> charges, const TakeOptions& options) {
  pass();
  if (!are_valid_charges(charges, 0) || !is_valid_id(options.id)) return refuse(ErrorCode::kInvalid);
  if (options.mode == Mode::kUpTo && charges.size() != 1) return refuse(ErrorCode::kInvalid);
  const auto parameters = parameters_of("take" + std::to_string(static_cast<int>(options.mode)), charges);
  const auto known = TRY(recall<Decision>(options.id, parameters));
  if (known) return *known;
  TRY(check_known(charges));
  if (options.mode == Mode::kForce) {
    TRY(check_total(charges));
  }
  const auto before = meters_;
  // A shadow limit and a cost of 0 leave nothing to reduce.
  const bool is_reduced =
      options.mode == Mode::kUpTo && charges[0].cost > 0 && !limits_.at(std::string(charges[0].limit)).is_shadow();
  Decision decision = is_reduced ? judge_up_to(charges[0]).decision : judge(charges, options.mode).decision;
  const MeterName name = *tightest(names_of(charges));
  decision.remaining = meter(name).remaining();
  decision.limit = meter(name).capacity();
  decision.reset_after = meter(name).reset_after();
  if (options.mode == Mode::kPeek) {
    meters_ = before;
  } else {
    remember(options.id, parameters, decision);
  }
  return decision;
}

Result<Decision> ModelLimiter::peek(std::span<const Charge> charges) { return take(charges, {.mode = Mode::kPeek}); }

Result<Settlement> ModelLimiter::give(std::span<const Charge> charges, std::string_view id) {
  pass();
  if (!are_valid_charges(charges, 1) || !is_valid_id(id)) return refuse(ErrorCode::kInvalid);
  const auto parameters = parameters_of("give", charges);
  const auto known = TRY(recall<Settlement>(id, parameters));
  if (known) return *known;
  TRY(check_known(charges));
  Amount given = 0;
  for (const Charge& charge : charges) {
    const MeterName name(charge.limit, charge.key);
    const Amount back = std::min(charge.cost, meter(name).givable(held(name)));
    meter(name).give(back);
    given += back;
  }
  const Settlement answer = settlement(given, names_of(charges));
  remember(id, parameters, answer);
  return answer;
}

Settlement ModelLimiter::settlement(Amount amount, const std::vector<MeterName>& names) {
  const auto name = tightest(names);
  if (!name) return {amount, 0, 0};
  return {amount, meter(*name).remaining(), meter(*name).capacity()};
}

// ---- usage

Result<Usage> ModelLimiter::usage(std::string_view limit, std::string_view key) {
  pass();
  if (!is_valid_name(limit) || !is_valid_key(key)) return refuse(ErrorCode::kInvalid);
  const MeterName name(limit, key);
  if (!limits_.contains(name.first)) return refuse(ErrorCode::kNoLimit);
  const Amount held_units = held(name);
  const ModelMeter& found = meter(name);
  return Usage{found.usage() - held_units, held_units, found.remaining(), found.capacity(), found.reset_after()};
}

Result<Reconciliation> ModelLimiter::reconcile(std::string_view limit, std::string_view key, Amount used) {
  pass();
  if (!is_valid_name(limit) || !is_valid_key(key) || !is_from_to(used, 0)) return refuse(ErrorCode::kInvalid);
  const MeterName name(limit, key);
  if (!limits_.contains(name.first)) return refuse(ErrorCode::kNoLimit);
  const Amount held_units = held(name);
  if (used + held_units > kAmountMax) return refuse(ErrorCode::kInvalid);
  const Amount before = meter(name).usage() - held_units;
  meter(name).set_usage(used + held_units);
  return Reconciliation{before, used};
}

// ---- holds

Result<HoldDecision> ModelLimiter::hold(std::span<const Charge> charges, Duration ttl, const HoldOptions& options) {
  pass();
  const bool is_ttl_valid = ttl > Duration() && ttl <= kHoldTtlMax;
  if (!are_valid_charges(charges, 1) || !is_ttl_valid || !is_valid_id(options.id) || !is_valid_tag(options.tag)) {
    return refuse(ErrorCode::kInvalid);
  }
  const auto parameters = parameters_of("hold" + std::to_string(ttl.ns()) + "|" + std::string(options.tag), charges);
  const auto known = TRY(recall<HoldDecision>(options.id, parameters));
  if (known) return *known;
  TRY(check_known(charges));
  const Judgement judgement = judge(charges, Mode::kTake);
  HoldDecision decision{judgement.decision, std::string(options.id)};
  const std::vector<MeterName> names = names_of(charges);
  const MeterName name = *tightest(names);
  decision.remaining = meter(name).remaining();
  decision.limit = meter(name).capacity();
  decision.reset_after = meter(name).reset_after();
  if (decision.is_allowed) {
    if (decision.id.empty()) decision.id = "model-" + std::to_string(++ids_made_);
    Hold made{decision.id, std::string(options.tag), HoldState::kHeld, now_, now_ + ttl.ns(), 0, {}, {}, {}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      made.parts.push_back({names[i], charges[i].cost, charges[i].cost, now_, judgement.charged[i] > 0});
      made.held.push_back(charges[i].cost);
    }
    holds_.insert_or_assign(decision.id, made);
  }
  remember(decision.id, parameters, decision);
  return decision;
}

}  // namespace mete::model
