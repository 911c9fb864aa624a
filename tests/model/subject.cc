// Runs operations on a Limiter and on the model, which have the same calls, and puts their answers in words.
#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "model/history.h"
#include "model/model_limiter.h"

namespace mete::model {

namespace {

std::string text_of(Duration length) { return length.is_never() ? "never" : std::to_string(length.ns()); }

Result<Usage> rounded_usage(Result<Usage> usage, Duration resolution) {
  if (usage) usage->reset_after = round_up(usage->reset_after, resolution);
  return usage;
}

std::string text_of(const Decision& decision) {
  std::string text = decision.allowed() ? "allowed" : "denied";
  text += " taken " + std::to_string(decision.taken) + " remaining " + std::to_string(decision.remaining) + " limit " +
          std::to_string(decision.limit) + " retry " + text_of(decision.retry_after) + " reset " +
          text_of(decision.reset_after);
  for (const std::string& name : decision.violated) text += " violated " + name;
  return text;
}

std::string text_of(const Settlement& settlement) {
  return "amount " + std::to_string(settlement.amount) + " remaining " + std::to_string(settlement.remaining) +
         " limit " + std::to_string(settlement.limit);
}

std::string text_of(const Usage& usage) {
  return "used " + std::to_string(usage.used) + " held " + std::to_string(usage.held) + " remaining " +
         std::to_string(usage.remaining) + " limit " + std::to_string(usage.limit) + " reset " +
         text_of(usage.reset_after);
}

std::string text_of(const Reconciliation& reconciliation) {
  return "used before " + std::to_string(reconciliation.used_before) + " now " +
         std::to_string(reconciliation.used_now);
}

std::string text_of(const Error& error) { return "error " + std::string(to_string(error.code)); }

std::string text_of(bool is_true) { return is_true ? "true" : "false"; }

template <class T>
std::string text_of(const Result<T>& result) {
  if (!result.has_value()) return text_of(result.error());
  if constexpr (std::is_void_v<T>) {
    return "ok";
  } else {
    return text_of(*result);
  }
}

// The ids that a limiter made up, and what the history calls them.
class Nicknames {
 public:
  void bind(const std::string& nickname, const std::string& id) {
    ids_[nickname] = id;
    nicknames_[id] = nickname;
  }
  [[nodiscard]] std::string id(const std::string& name) const { return look_up(ids_, name); }
  [[nodiscard]] std::string nickname(const std::string& id) const { return look_up(nicknames_, id); }

 private:
  static std::string look_up(const std::map<std::string, std::string>& names, const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  }

  std::map<std::string, std::string> ids_;
  std::map<std::string, std::string> nicknames_;
};

template <class L>
class SubjectOf final : public Subject {
 public:
  explicit SubjectOf(L limiter, std::function<void(L&)> between = {}, Scope scope = Scope::kNode)
      : limiter_(std::move(limiter)), between_(std::move(between)), scope_(scope) {}

  std::string execute(const Operation& operation) override;
  Result<Usage> usage(const std::string& limit, const std::string& key) override { return limiter_.usage(limit, key); }

 private:
  std::string execute_on_meter(const Operation& operation);
  std::string execute_on_hold(const Operation& operation);
  std::string take(const Operation& operation);
  std::string hold(const Operation& operation);
  std::string find_hold(const std::string& id);
  std::string list(const Result<std::vector<std::string>>& ids, bool by_expiry);

  L limiter_;
  const std::function<void(L&)> between_;
  const Scope scope_;
  Nicknames names_;
};

template <class L>
std::string SubjectOf<L>::take(const Operation& operation) {
  const std::vector<Charge> charges = views_of(operation.charges);
  if (operation.mode == Mode::kPeek) return text_of(rounded(limiter_.peek(charges), operation.resolution));
  const std::string id = names_.id(operation.id);
  return text_of(rounded(limiter_.take(charges, {.mode = operation.mode, .id = id}), operation.resolution));
}

template <class L>
std::string SubjectOf<L>::hold(const Operation& operation) {
  const std::string id = names_.id(operation.id);
  const auto result =
      rounded(limiter_.hold(views_of(operation.charges), operation.ttl, {.id = id, .tag = operation.tag}),
              operation.resolution);
  if (!result.has_value()) return text_of(result.error());
  if (operation.id.empty() && result->allowed()) names_.bind(operation.nickname, result->id);
  return text_of(static_cast<const Decision&>(*result)) + " id " + names_.nickname(result->id);
}

template <class L>
std::string SubjectOf<L>::find_hold(const std::string& id) {
  const auto result = limiter_.find_hold(id);
  if (!result.has_value()) return text_of(result.error());
  if (!*result) return "none";
  const HoldInfo& info = **result;
  std::string text = names_.nickname(info.id) + " " + std::string(to_string(info.state)) + " expires in " +
                     text_of(info.expires_in) + " age " + text_of(info.age) + " tag '" + info.tag + "'";
  for (const HeldCharge& charge : info.charges) {
    text += " {" + charge.limit + " " + charge.key + " " + std::to_string(charge.amount) + "}";
  }
  return text;
}

// The order of holds that expire together, or that share a tag, is nobody's business.
template <class L>
std::string SubjectOf<L>::list(const Result<std::vector<std::string>>& ids, bool by_expiry) {
  if (!ids) return text_of(ids.error());
  std::vector<std::pair<Duration, std::string>> rows;
  for (const std::string& id : *ids) {
    const auto info = limiter_.find_hold(id);
    const bool is_known = info.has_value() && info->has_value();
    rows.emplace_back(by_expiry && is_known ? (*info)->expires_in : Duration(), names_.nickname(id));
  }
  const auto is_earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::string text = std::is_sorted(rows.begin(), rows.end(), is_earlier) ? "holds" : "holds out of order";
  std::sort(rows.begin(), rows.end());
  for (const auto& [expires_in, name] : rows) text += " " + name;
  return text;
}

template <class L>
std::string SubjectOf<L>::execute_on_hold(const Operation& operation) {
  const std::string id = names_.id(operation.id);
  switch (operation.call) {
    case Call::kCommit:
      return text_of(limiter_.commit(id));
    case Call::kCommitAmounts:
      return text_of(limiter_.commit(id, std::span<const Amount>(operation.amounts)));
    case Call::kCommitOverage:
      return text_of(limiter_.commit_with_overage(id, operation.amounts));
    case Call::kCancel:
      return text_of(limiter_.cancel(id));
    case Call::kExtend:
      return text_of(limiter_.extend(id, operation.ttl));
    default:
      return find_hold(id);
  }
}

template <class L>
std::string SubjectOf<L>::execute_on_meter(const Operation& operation) {
  const OwnedCharge& meter = operation.charges.at(0);
  switch (operation.call) {
    case Call::kOverride:
      return text_of(limiter_.override_amount(meter.limit, meter.key, operation.amount));
    case Call::kClearOverride:
      return text_of(limiter_.clear_override(meter.limit, meter.key));
    case Call::kReconcile:
      return text_of(limiter_.reconcile(meter.limit, meter.key, operation.amount));
    case Call::kHolds:
      return list(limiter_.holds(meter.limit, meter.key), true);
    default:
      return text_of(rounded_usage(limiter_.usage(meter.limit, meter.key), operation.resolution));
  }
}

template <class L>
std::string SubjectOf<L>::execute(const Operation& operation) {
  if (between_) between_(limiter_);
  switch (operation.call) {
    case Call::kDefine:
      return text_of(limiter_.define(Limit(operation.limit.value()).scope(scope_)));
    case Call::kDrop:
      return text_of(limiter_.drop(operation.charges.at(0).limit));
    case Call::kTake:
      return take(operation);
    case Call::kGive:
      return text_of(limiter_.give(views_of(operation.charges), names_.id(operation.id)));
    case Call::kHold:
      return hold(operation);
    case Call::kHoldsTagged:
      return list(limiter_.holds_tagged(operation.tag), false);
    case Call::kLimits:
      return list(limiter_.limits(), false);
    case Call::kCommit:
    case Call::kCommitAmounts:
    case Call::kCommitOverage:
    case Call::kCancel:
    case Call::kExtend:
    case Call::kFindHold:
      return execute_on_hold(operation);
    case Call::kOverride:
    case Call::kClearOverride:
    case Call::kReconcile:
    case Call::kHolds:
    case Call::kUsage:
      return execute_on_meter(operation);
  }
  return "";
}

}  // namespace

SubjectFactory subject_of(LimiterFactory factory, Between between, Scope scope) {
  return [factory = std::move(factory), between = std::move(between), scope](const Clock& clock) {
    return std::make_unique<SubjectOf<Limiter>>(factory(clock), between, scope);
  };
}

SubjectFactory model_subject() {
  return [](const Clock& clock) { return std::make_unique<SubjectOf<ModelLimiter>>(ModelLimiter(clock)); };
}

}  // namespace mete::model
