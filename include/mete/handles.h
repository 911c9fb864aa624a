// Handles: a limit, or one meter of it, for a program that asks often. What a name costs is paid once.
//
//     const mete::LimitHandle api = limiter.limit("api");
//     if (api.allow(user)) { … }                                    // one yes or no, and nothing else worked out
//     const mete::MeterHandle mail = limiter.meter("mail", "all");  // the key is always the same
//     auto decision = mail.take(3).value();                         // what remains, when to try again
//
// A handle behaves as the names that it was made of: it sees a limit that is redefined, dropped, defined again or
// overridden as a call by name sees it, and making one asks nothing, so that an unknown limit is an error of the calls.
// It saves most on an embedded store; on others a call costs what one by name does.
//
// Ownership: owns its names; refers to the limiter, which may be moved, and must outlive it. Thread safety: every call
// from any thread.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>
#include <mete/text.h>

#include <cstdint>
#include <string>

namespace mete {

class Limiter;
class MeterHandle;

namespace core {
struct Execution;
}
namespace store {
class EmbeddedStore;
class Store;
}  // namespace store

class LimitHandle {
 public:
  // Takes, and tells whether that was allowed. Throws Failure where it cannot be told, as Limiter::allow does.
  [[nodiscard]] bool allow(Text key, Amount cost = 1) const;
  Result<MeterDecision> take(Text key, Amount cost = 1) const;

  [[nodiscard]] MeterHandle meter(Text key) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class Limiter;
  friend class MeterHandle;

  LimitHandle(store::Store& store, core::Execution* execution, Text name);

  store::Store* store_;
  store::EmbeddedStore* embedded_;  // the same; null where the state is elsewhere
  core::Execution* execution_;      // of the started call that it was made in; null outside of one
  std::string name_;
  std::uint64_t name_hash_ = 0;  // the embedded store's
};

class MeterHandle {
 public:
  // As those of LimitHandle.
  [[nodiscard]] bool allow(Amount cost = 1) const;
  Result<MeterDecision> take(Amount cost = 1) const;

  [[nodiscard]] const std::string& limit() const { return limit_.name_; }
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  friend class LimitHandle;

  MeterHandle(const LimitHandle& limit, Text key);

  LimitHandle limit_;
  std::string key_;
  std::uint64_t hash_ = 0;
};

}  // namespace mete
