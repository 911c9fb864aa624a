// ModelLimiter: the operations of mete::Limiter as docs/semantics.md tells them, slow and obvious.
//
// Maps and vectors, no shards, no locks: every call first lets the clock pass, one expiring hold after the other, and
// then does what the page says. Random histories compare every store with it (history.h).
//
// Thread safety: none.
#pragma once

#include <mete/mete.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/model_meter.h"

namespace mete::model {

class ModelLimiter {
 public:
  // The clock is not owned. What it tells may go back: then time stands still.
  explicit ModelLimiter(const Clock& clock) : clock_(clock) {}

  Result<void> define(const Limit& limit);
  Result<bool> drop(std::string_view name);
  Result<std::vector<std::string>> limits();
  Result<void> override_amount(std::string_view limit, std::string_view key, Amount amount);
  Result<void> clear_override(std::string_view limit, std::string_view key);

  Result<Decision> take(std::span<const Charge> charges, const TakeOptions& options = {});
  Result<Decision> peek(std::span<const Charge> charges);
  Result<Settlement> give(std::span<const Charge> charges, std::string_view id = {});

  Result<HoldDecision> hold(std::span<const Charge> charges, Duration ttl, const HoldOptions& options = {});
  Result<Settlement> commit(std::string_view id);
  Result<Settlement> commit(std::string_view id, std::span<const Amount> amounts);
  Result<Settlement> commit_with_overage(std::string_view id, std::span<const Amount> amounts);
  Result<Settlement> cancel(std::string_view id);
  Result<Duration> extend(std::string_view id, Duration ttl);
  Result<std::optional<HoldInfo>> find_hold(std::string_view id);
  Result<std::vector<std::string>> holds(std::string_view limit, std::string_view key, std::size_t count_max = 1000);
  Result<std::vector<std::string>> holds_tagged(std::string_view tag);

  Result<Usage> usage(std::string_view limit, std::string_view key);
  Result<Reconciliation> reconcile(std::string_view limit, std::string_view key, Amount used);

 private:
  using MeterName = std::pair<std::string, std::string>;  // limit, key

  struct Part {
    MeterName meter;
    Amount units = 0;    // as asked for; once committed: as committed
    Amount charged = 0;  // what can come back, made at `made_at`
    Wide made_at = 0;
    bool is_held = true;  // no longer once its limit is dropped; never for a shadow limit that it did not fit
  };
  struct Hold {
    std::string id;
    std::string tag;
    HoldState state = HoldState::kHeld;
    Wide made_at = 0;
    Wide expires_at = 0;
    Wide finished_at = 0;
    std::vector<Part> parts;
    std::vector<Amount> held;  // of each part, when it was made
    Settlement answer;         // what its commit or cancel was told
  };
  struct Remembered {
    std::string parameters;
    Wide at = 0;
    std::variant<Decision, Settlement, HoldDecision> answer;
  };
  // What an operation would do: the answer, and what each of its charges is charged.
  struct Judgement {
    Decision decision;
    std::vector<Amount> charged;
  };

  // Time.
  void pass();
  void expire(Hold& hold);
  void forget();

  // Meters.
  ModelMeter& meter(const MeterName& name);
  [[nodiscard]] Terms terms(const MeterName& name) const;
  void redefine(const MeterName& name);
  void come_back(const Part& part, Amount units);
  [[nodiscard]] std::vector<OpenPart> open_parts(const MeterName& name) const;
  [[nodiscard]] Amount held(const MeterName& name);
  [[nodiscard]] bool is_shadow(const MeterName& name) const { return limits_.at(name.first).is_shadow(); }
  [[nodiscard]] Result<void> check_known(std::span<const Charge> charges) const;
  // Which meter speaks for the operation: the one with the least remaining, shadows only among themselves.
  [[nodiscard]] std::optional<MeterName> tightest(const std::vector<MeterName>& names);

  // Operations.
  Judgement judge(std::span<const Charge> charges, Mode mode);
  Judgement judge_up_to(const Charge& charge);
  Result<void> check_total(std::span<const Charge> charges);
  Settlement settlement(Amount amount, const std::vector<MeterName>& names);
  // A hold that is open, or has ended like that.
  Result<Hold*> hold_to_end(std::string_view id, HoldState end);
  Result<Settlement> finish(Hold& hold, const std::vector<Amount>& amounts, bool with_overage);

  template <class Answer>
  Result<std::optional<Answer>> recall(std::string_view id, const std::string& parameters);
  template <class Answer>
  void remember(std::string_view id, const std::string& parameters, const Answer& answer);

  const Clock& clock_;
  Wide now_ = 0;
  std::map<std::string, Limit> limits_;
  std::map<MeterName, Amount> overrides_;
  std::map<MeterName, ModelMeter> meters_;
  std::map<std::string, Hold> holds_;
  std::map<std::string, Remembered> remembered_;
  int ids_made_ = 0;
};

}  // namespace mete::model
