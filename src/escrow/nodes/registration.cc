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

Registration::Registration(Registry registry, bool is_new, Remember remember)
    : registry_(std::move(registry)),
      self_(registry_.self()),
      cluster_(registry_.remembered().cluster),
      is_new_(is_new),
      remember_(std::move(remember)),
      beats_saved_(registry_.remembered().beats),
      nodes_(registry_.nodes()) {}

Result<std::unique_ptr<Registration>> Registration::take(store::Store& shared, const Options& options) {
  const bool has_disk = !options.directory.empty();
  CHECK(!has_disk || options.files != nullptr);
  auto memory =
      TRY(has_disk ? load_memory(*options.files, options.directory) : NodeMemory{.identity = base::random_id()});
  Remember remember;
  if (has_disk) {
    remember = [files = options.files, directory = options.directory,
                identity = memory.identity](const Remembered& known) {
      return save_memory(*files, directory, {.identity = identity, .remembered = known});
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
  return std::unique_ptr<Registration>(new Registration(std::move(registry), is_new, std::move(remember)));
}

Registration::~Registration() {
  if (registry_.membership() == Membership::kMember) save_beats();
  (void)registry_.leave();  // unreachable: the name is free when the hold has expired
}

// A disk that fails is noticed by who keeps limits on it; the number in memory is what counts while this node runs.
void Registration::save_beats() {
  const Remembered& known = registry_.remembered();
  if (!remember_ || known.beats == beats_saved_) return;
  if (remember_(known)) beats_saved_ = known.beats;
}

Result<void> Registration::confirm() {
  const std::uint64_t wanted = rounds_begun_ + 1;
  const std::lock_guard asking(asking_);
  if (rounds_begun_ >= wanted) return confirmed_;
  ++rounds_begun_;
  confirmed_ = ask();
  return confirmed_;
}

Result<void> Registration::ask() {
  const auto membership = TRY(registry_.refresh());
  const std::lock_guard guard(mutex_);
  if (membership != Membership::kMember) {
    lost_ = base::unavailable(registry_.reason());
    return *lost_;
  }
  if (registry_.remembered().beats - beats_saved_ >= kBeatsUnsaved) save_beats();
  nodes_ = registry_.nodes();
  clock_ = registry_.clock();
  return {};
}

std::optional<Error> Registration::lost() const {
  const std::lock_guard guard(mutex_);
  return lost_;
}

Duration Registration::clock() const {
  const std::lock_guard guard(mutex_);
  return clock_;
}

std::vector<NodeInfo> Registration::nodes() const {
  const std::lock_guard guard(mutex_);
  return nodes_;
}

}  // namespace mete::escrow
