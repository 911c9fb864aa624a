#include "model/never_laxer.h"

#include <string_view>

#include "escrow/terms.h"

namespace mete::model {

namespace {

bool is_allowed(std::string_view answer) { return answer.starts_with("allowed"); }
bool is_error(std::string_view answer) { return answer.starts_with("error"); }

Amount taken(std::string_view answer) {
  constexpr std::string_view kWord = "taken ";
  const std::size_t at = answer.find(kWord);
  return at == std::string_view::npos ? 0 : std::stoll(std::string(answer.substr(at + kWord.size())));
}

// Units that lie in a share are in use where all is counted: what goes beyond a hold, or past all counting, may find
// too few of them.
bool may_be_refused(const Operation& operation, std::string_view answer) {
  if (operation.call == Call::kCommitOverage) return answer == "error EXCEEDS";
  const bool is_forced = operation.call == Call::kTake && operation.mode == Mode::kForce;
  return (is_forced || operation.call == Call::kReconcile) && answer == "error ERR";
}

// Told by the store that all nodes share, and by no share.
bool is_exact(Call call) {
  switch (call) {
    case Call::kDefine:
    case Call::kDrop:
    case Call::kOverride:
    case Call::kClearOverride:
    case Call::kExtend:
    case Call::kFindHold:
    case Call::kHoldsTagged:
    case Call::kLimits:
      return true;
    default:
      return false;
  }
}

bool is_admission(const Operation& operation) {
  if (operation.call == Call::kHold) return true;
  return operation.call == Call::kTake && (operation.mode == Mode::kTake || operation.mode == Mode::kUpTo);
}

// No share can be drawn of it: it would take more than a year to come back.
bool is_for_no_node(const Operation& operation) {
  if (operation.call != Call::kDefine) return false;
  const Limit& limit = *operation.limit;
  return limit.amount() > 0 && !limit.is_shadow() && !escrow::terms_of(limit, 1);
}

}  // namespace

struct NeverLaxer::Compared {
  Subject& model;
  Subject& subject;
};

NeverLaxer::Outcome NeverLaxer::admit(const Operation& operation, const Compared& compared) {
  const std::string actual = compared.subject.execute(operation);
  if (is_error(actual) || !operation.id.empty()) {
    const std::string expected = compared.model.execute(operation);
    if (!is_error(actual)) ++admissions_;
    const bool is_same = is_error(actual) || is_error(expected)
                             ? actual == expected
                             : is_allowed(actual) == is_allowed(expected) && taken(actual) == taken(expected);
    if (is_same) return {};
    if (is_error(actual) || is_error(expected) || taken(actual) > taken(expected)) {
      return {Difference{0, expected, actual}};
    }
    ++stricter_;
    return {{}, true};
  }
  ++admissions_;
  Operation same = operation;
  if (is_allowed(actual)) {
    // All that the store has taken must fit; what it has left must not change what follows.
    if (same.mode == Mode::kUpTo && !same.charges.empty()) {
      if (taken(actual) < same.charges[0].cost) {
        same.mode = Mode::kPeek;
        if (taken(compared.model.execute(same)) >= same.charges[0].cost) ++stricter_;
        same.mode = Mode::kUpTo;
      }
      same.charges[0].cost = taken(actual);
    }
    const std::string expected = compared.model.execute(same);
    if (is_allowed(expected) && taken(expected) == taken(actual)) return {};
    return {Difference{0, expected, actual}};
  }
  same.call = Call::kTake;
  same.mode = Mode::kPeek;
  const std::string expected = compared.model.execute(same);
  if (is_error(expected)) return {Difference{0, expected, actual}};
  if (is_allowed(expected)) ++stricter_;
  return {};
}

NeverLaxer::Outcome NeverLaxer::other(const Operation& operation, const Compared& compared) {
  const std::string actual = compared.subject.execute(operation);
  if (is_for_no_node(operation) && is_error(actual)) return {};
  const std::string expected = compared.model.execute(operation);
  if (is_exact(operation.call) || is_error(expected)) {
    if (expected == actual) return {};
    return {Difference{0, expected, actual}};
  }
  const bool is_laxer = operation.call == Call::kTake && is_allowed(actual) && !is_allowed(expected);  // a peek
  if (!is_error(actual) && !is_laxer) return {};
  if (may_be_refused(operation, actual)) return {{}, true};
  return {Difference{0, expected, actual}};
}

std::optional<Difference> NeverLaxer::probe(const Operation& operation, const Compared& compared) {
  for (const OwnedCharge& meter : operation.charges) {
    const auto expected = compared.model.usage(meter.limit, meter.key);
    const auto actual = compared.subject.usage(meter.limit, meter.key);
    if (!expected || !actual) continue;  // Bad names are compared where they are asked for.
    const bool is_laxer = actual->remaining > expected->remaining || actual->limit != expected->limit ||
                          actual->used + actual->held < expected->used + expected->held;
    if (!is_laxer) continue;
    const auto words = [&](const Usage& usage) {
      return "usage of " + meter.limit + " " + meter.key + ": used and held " +
             std::to_string(usage.used + usage.held) + " remaining " + std::to_string(usage.remaining) + " limit " +
             std::to_string(usage.limit);
    };
    return Difference{0, words(*expected), words(*actual)};
  }
  return std::nullopt;
}

NeverLaxer::Outcome NeverLaxer::execute(const Operation& operation, const Compared& compared) {
  return is_admission(operation) ? admit(operation, compared) : other(operation, compared);
}

std::optional<Difference> NeverLaxer::operator()(const History& history, const SubjectFactory& factory) {
  ManualClock clock(history.operations.empty() ? Instant() : history.operations.front().at);
  const auto model = model_subject()(clock);
  const auto subject = factory(clock);
  const Compared compared{*model, *subject};
  for (std::size_t i = 0; i < history.operations.size(); ++i) {
    const Operation& operation = history.operations[i];
    if (operation.at < clock.now()) {  // as in compare()
      (void)model->usage("nowhere", "k");
      (void)subject->usage("nowhere", "k");
    }
    clock.set(operation.at);
    Outcome outcome = execute(operation, compared);
    if (outcome.is_over) return std::nullopt;
    if (!outcome.difference && history.is_probed) outcome.difference = probe(operation, compared);
    if (outcome.difference) {
      outcome.difference->operation = i;
      return outcome.difference;
    }
  }
  return std::nullopt;
}

}  // namespace mete::model
