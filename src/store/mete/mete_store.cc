#include "store/mete/mete_store.h"

#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/coordinator.h"
#include "store/mete/url.h"

namespace mete::store::servers {

Result<std::unique_ptr<Store>> MeteStore::open(std::string_view url, const Options& options) {
  if (options.clock != nullptr) return base::invalid("clock: the Mete server has a clock of its own, which decides");
  const auto parsed = TRY(parse_url(url));
  auto group = TRY(ServerGroup::open(parsed));
  return std::unique_ptr<Store>(new MeteStore(std::move(group)));
}

MeteStore::MeteStore(std::unique_ptr<ServerGroup> group) : group_(std::move(group)) {}

MeteStore::~MeteStore() = default;

std::string MeteStore::new_hold_id(std::span<const Charge> charges) const {
  return group_->new_id(charges.empty() ? Text() : charges[0].key);
}

template <class What>
Result<typename What::Answer> MeteStore::perform(const What& operation) {
  constexpr core::Home kHome = What::kTraits.home;
  if constexpr (kHome == core::Home::kHold) {
    return ask_in_turn(operation);
  } else if constexpr (kHome == core::Home::kKey) {
    return group_->ask(group_->home_of(operation.key), operation);
  } else if constexpr (kHome == core::Home::kMeter) {
    return group_->ask(group_->home_of(operation.meter.key), operation);
  } else {
    static_assert(std::is_same_v<What, core::Hold>, "what happens at several servers is written by itself");
    return group_->ask(*TRY(group_->home_of(operation.charges)), operation);
  }
}

namespace {

Result<core::Verdict> run_in_parts(Coordinator& whole, const Take& take) { return whole.take(take); }
Result<Settlement> run_in_parts(Coordinator& whole, const core::Give& give) { return whole.give(give); }
Result<std::optional<core::Verdict>> run_in_parts(Coordinator& whole, const core::Recall& recall) {
  return whole.recall(recall.take);
}

}  // namespace

template <class What>
Result<typename What::Answer> MeteStore::run_at_homes(std::span<const Charge> charges, const What& operation) {
  const auto home = group_->home_of(charges);
  if (home.has_value()) return group_->ask(**home, operation);
  const auto home_at = [this](Server& server) {
    return [this, &server](const auto& part) { return group_->ask(server, part); };
  };
  std::vector<std::unique_ptr<Home>> homes;
  std::vector<Server*> servers;
  std::vector<HomePart> parts;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    Server& server = group_->home_of(charges[i].key);
    const auto number = static_cast<std::size_t>(std::ranges::find(servers, &server) - servers.begin());
    if (number == servers.size()) {
      servers.push_back(&server);
      homes.push_back(std::make_unique<HomeOf<decltype(home_at(server))>>(home_at(server)));
      parts.push_back({.home = homes.back().get()});
    }
    parts[number].add(charges[i], i);
  }
  Coordinator whole(parts);
  return run_in_parts(whole, operation);
}

Result<core::Verdict> MeteStore::perform(const core::Take& take) {
  if (!is_lone(take)) return run_at_homes(take.charges, take);
  Server& server = group_->home_of(take.charges[0].key);
  const auto take_each = [&](const core::TakeEach& takes) {
    std::vector<std::size_t> numbers(takes.charges.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    take_there(server, takes, numbers);
  };
  return server.lone_takes().join(take.charges[0], take_each);
}
Result<std::optional<core::Verdict>> MeteStore::perform(const core::Recall& recall) {
  return run_at_homes(recall.take.charges, recall);
}
Result<Settlement> MeteStore::perform(const core::Give& give) { return run_at_homes(give.charges, give); }

namespace {

// No answer: there is no such hold at that server.
template <class Answer>
bool is_unknown(const Result<Answer>& answer, const Error& no_hold) {
  return !answer.has_value() && answer.error() == no_hold;
}
bool is_unknown(const Result<std::optional<HoldInfo>>& answer, const Error& /*no_hold*/) {
  return answer.has_value() && !answer->has_value();
}

}  // namespace

// A random id belongs to the server of its hold. A given one may be at any: where it belongs is asked first. While one
// is away that may have it, nobody can say that there is none.
template <class What>
Result<typename What::Answer> MeteStore::ask_in_turn(const What& operation) {
  const Error no_hold = core::no_hold(operation.id);
  std::optional<Error> absence;
  std::optional<Result<typename What::Answer>> refusal;
  for (Server* server : group_->from_home_of(operation.id)) {
    auto answer = group_->ask(*server, operation);
    const bool is_none = is_unknown(answer, no_hold);
    if (answer.has_value() && !is_none) return answer;
    if (!answer.has_value() && answer.error().code == ErrorCode::kUnavailable) {
      absence = answer.error();
    } else if (is_none) {
      if (!refusal) refusal = std::move(answer);
    } else {
      // One that knows it. If it is closed there, another one may still have an open hold of that id.
      const bool is_closed = answer.error().code == ErrorCode::kNoHold || answer.error().code == ErrorCode::kMismatch;
      if (!is_closed) return answer;
      refusal = std::move(answer);
    }
  }
  if (absence) return *absence;
  return std::move(*refusal);
}

}  // namespace mete::store::servers
