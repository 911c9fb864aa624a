#include "escrow/others/others.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "net/signal.h"

namespace mete::escrow {

NodeShare& NodeShare::operator+=(const NodeShare& other) {
  held += other.held;
  spent += other.spent;
  usable += other.usable;
  returned += other.returned;
  return *this;
}

std::vector<NodeShare> Others::ask_and_wait(ShareQuestion question) {
  struct Answer {
    std::mutex mutex;
    net::Signal changed;
    std::optional<std::vector<NodeShare>> shares;
  };
  const auto answer = std::make_shared<Answer>();
  ask(std::move(question), [answer](const std::vector<NodeShare>& shares) {
    const std::scoped_lock lock(answer->mutex);
    answer->shares = shares;
    answer->changed.notify_all();
  });
  std::unique_lock lock(answer->mutex);
  answer->changed.wait(lock, net::Deadline::in(Duration::never()), [&] { return answer->shares.has_value(); });
  return std::move(*answer->shares);
}

}  // namespace mete::escrow
