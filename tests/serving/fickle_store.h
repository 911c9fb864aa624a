// FickleStore: a store that fails as the test says, and else does what the one that it holds does.
//
//     FickleStore store(std::make_unique<EmbeddedStore>(Options{}));
//     store.mood = [](std::string_view operation) { return operation == "TAKE" ? Mood::kAway : Mood::kWell; };
//
// Thread safety: that of `mood`.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/errors.h"
#include "store/store.h"

namespace mete::serving {

enum class Mood : std::uint8_t {
  kWell,
  kAway,  // nothing happens
  kMute,  // it happens, and nobody hears of it
};

class FickleStore final : public store::StoreOf<FickleStore> {
 public:
  explicit FickleStore(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}

  [[nodiscard]] Instant now() const override { return store_->now(); }
  [[nodiscard]] store::Store& held() { return *store_; }

  // By the operation's name on the wire (core/operation.h); asked for each operation.
  std::function<Mood(std::string_view operation)> mood;

 private:
  friend class store::StoreOf<FickleStore>;

  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& execution) {
    const Mood now = mood ? mood(What::kTraits.name) : Mood::kWell;
    if (now == Mood::kAway) return base::unavailable("it is away");
    auto answer = store_->run(operation, execution);
    if (now == Mood::kMute) return base::unavailable("the answer was lost");
    return answer;
  }

  std::unique_ptr<store::Store> store_;
};

}  // namespace mete::serving
