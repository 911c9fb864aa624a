#include "escrow/nodes/registration.h"

#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"

namespace mete::escrow {

namespace {

Result<Registry> join(store::Store& shared, Joining::Options options, const std::function<void(Duration)>& wait) {
  Joining joining(shared, std::move(options));
  while (true) {
    auto joined = TRY(joining.attempt());
    if (joined) return std::move(*joined);
    wait(kRefreshEvery);
  }
}

}  // namespace

Registration::Registration(Registry registry, bool is_new)
    : registry_(std::move(registry)),
      self_(registry_.self()),
      cluster_(registry_.remembered().cluster),
      is_new_(is_new),
      nodes_(registry_.nodes()) {}

Result<std::unique_ptr<Registration>> Registration::take(store::Store& shared, const Options& options) {
  const bool has_disk = !options.directory.empty();
  CHECK(!has_disk || options.files != nullptr);
  auto memory =
      TRY(has_disk ? load_memory(*options.files, options.directory) : NodeMemory{.identity = base::random_id()});
  std::function<Result<void>(const Remembered&)> remember;
  if (has_disk) {
    remember = [&](const Remembered& known) {
      return save_memory(*options.files, options.directory, {.identity = memory.identity, .remembered = known});
    };
  }
  auto registry = TRY(join(shared,
                           {.name = options.name,
                            .identity = memory.identity,
                            .address = options.address,
                            .remembered = memory.remembered,
                            .remember = remember},
                           options.wait));
  const bool is_new = memory.remembered.cluster == 0;
  return std::unique_ptr<Registration>(new Registration(std::move(registry), is_new));
}

Registration::~Registration() {
  (void)registry_.leave();  // unreachable: the name is free when the hold has expired
}

Result<void> Registration::keep() {
  auto confirmed = confirm();
  const std::lock_guard asking(asking_);
  if (registry_.membership() == Membership::kMember) return {};
  return confirmed;
}

Result<void> Registration::confirm() {
  const std::lock_guard asking(asking_);
  const auto membership = TRY(registry_.refresh());
  {
    const std::lock_guard guard(mutex_);
    nodes_ = registry_.nodes();
  }
  if (membership == Membership::kMember) return {};
  return base::unavailable(registry_.reason());
}

std::vector<NodeInfo> Registration::nodes() const {
  const std::lock_guard guard(mutex_);
  return nodes_;
}

}  // namespace mete::escrow
