// ServerStore: a server as a store, so that a command works on one as it does on any other store.
//
//     ServerStore store(std::move(client));
//     auto usage = store.usage({"api", "alice"});
//
// Operations are told as Mete servers tell them to each other (core/operation_fields.h), which takes no more rights
// than the commands of clients do. Three things a server does for its clients alone, and they are asked of it by their
// commands: it has a queue for takes that wait, it judges who may define a limit of scope escrow, and it knows how much
// of one is outstanding. Thread safety: none.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "cli/client/client.h"
#include "store/mete/call.h"
#include "store/mete/replies.h"
#include "store/store.h"

namespace mete::cli {

class ServerStore final : public store::StoreOf<ServerStore> {
 public:
  // A take waits until it fits, but no longer than `patience`.
  explicit ServerStore(Client client, Duration patience = {}) : client_(std::move(client)), patience_(patience) {}

  // As the server told it last.
  [[nodiscard]] Instant now() const override { return now_; }
  // The server itself says whether it does.
  [[nodiscard]] bool draws_shares() const override { return true; }
  [[nodiscard]] Result<std::optional<Amount>> outstanding(std::string_view limit) override;

  // For commands that are no operations.
  [[nodiscard]] Client& client() { return client_; }

 private:
  friend class StoreOf<ServerStore>;

  template <class What>
  Result<typename What::Answer> perform(const What& operation) {
    if constexpr (What::kTraits.home == core::Home::kEach) {
      return base::invalid("a server is told one operation after the other");
    } else {
      store::servers::Call call(core::is_repeatable(operation));
      call.add(operation);
      const auto reply = TRY(client_.exchange(call.bytes()));
      return store::servers::read_answer(operation, reply, [&](bool is_whole, Instant now) -> Result<void> {
        now_ = now;
        return is_whole ? Result<void>() : unexpected_reply();
      });
    }
  }
  Result<core::Verdict> perform(const core::Take& take);
  Result<void> perform(const core::Define& define);

  Client client_;
  const Duration patience_;
  Instant now_;
};

}  // namespace mete::cli
