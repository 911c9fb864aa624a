#include <mete/handles.h>

#include "base/try.h"
#include "store/one_charge.h"

namespace mete {

namespace {

MeterDecision decision_of(const core::Verdict& verdict) {
  return {.is_allowed = verdict.is_allowed,
          .is_violated = verdict.violated != 0,
          .is_unrecorded = verdict.is_unrecorded,
          .taken = verdict.taken,
          .remaining = verdict.remaining,
          .limit = verdict.limit,
          .retry_after = verdict.retry_after,
          .reset_after = verdict.reset_after};
}

}  // namespace

LimitHandle::LimitHandle(store::Store& store, core::Execution* execution, Text name)
    : store_(&store), embedded_(store::embedded_for_clients(store, name)), execution_(execution), name_(name) {
  if (embedded_ != nullptr) name_hash_ = embedded_->engine().hash_of_name(name_);
}

bool LimitHandle::allow(Text key, Amount cost) const {
  return store::OneCharge(*store_, embedded_, execution_).allow({name_, key, cost}, [&](const engine::Engine& engine) {
    return engine.hash_of(name_hash_, key);
  });
}

Result<MeterDecision> LimitHandle::take(Text key, Amount cost) const {
  return decision_of(
      TRY(store::OneCharge(*store_, embedded_, execution_).take({name_, key, cost}, [&](const engine::Engine& engine) {
        return engine.hash_of(name_hash_, key);
      })));
}

MeterHandle LimitHandle::meter(Text key) const { return {*this, key}; }

// NOLINTNEXTLINE(modernize-pass-by-value): it is copied once either way
MeterHandle::MeterHandle(const LimitHandle& limit, Text key) : limit_(limit), key_(key) {
  if (limit_.embedded_ == nullptr) return;
  hash_ = limit_.embedded_->engine().hash_of(limit_.name_hash_, key_).of_meter;
}

bool MeterHandle::allow(Amount cost) const {
  return store::OneCharge(*limit_.store_, limit_.embedded_, limit_.execution_)
      .allow({limit_.name_, key_, cost}, [&](const engine::Engine& /*engine*/) {
        return engine::MeterHash{limit_.name_hash_, hash_};
      });
}

Result<MeterDecision> MeterHandle::take(Amount cost) const {
  return decision_of(TRY(store::OneCharge(*limit_.store_, limit_.embedded_, limit_.execution_)
                             .take({limit_.name_, key_, cost}, [&](const engine::Engine& /*engine*/) {
                               return engine::MeterHash{limit_.name_hash_, hash_};
                             })));
}

}  // namespace mete
