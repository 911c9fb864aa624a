// Holds. A random id belongs to the server of its hold. A given one may be at any: where it belongs is asked first.

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/refusals.h"
#include "store/mete/mete_store.h"

namespace mete::store::peers {

using enum Call::Repeat;

namespace {

// Asks one server after the other, the id's own first, until one knows the hold. While one is away that may have it,
// nobody can say that there is none.
template <class Answer, class Ask>
Result<Answer> ask_in_turn(PeerGroup& group, std::string_view id, Ask ask) {
  std::optional<Error> absence;
  Error refusal = core::no_hold(id);
  for (Peer* peer : group.from_home_of(id)) {
    Result<Answer> answer = ask(*peer);
    if (answer) return answer;
    if (answer.error().code == ErrorCode::kUnavailable) {
      absence = answer.error();
    } else if (answer.error() != core::no_hold(id)) {
      // One that knows it. If it is closed there, another one may still have an open hold of that id.
      if (answer.error().code != ErrorCode::kNoHold) return answer;
      refusal = answer.error();
    }
  }
  return tl::make_unexpected(absence.value_or(refusal));
}

}  // namespace

Result<core::Verdict> PeerStore::do_hold(const HoldRequest& request) {
  const auto home = group_->home_of(request.charges);
  if (!home) return tl::make_unexpected(home.error());
  // It has an id always: asked twice, it is one hold.
  const auto answer = group_->ask<VerdictMessage>(**home, kIfLost, "STORE HOLD", HoldMessage(request));
  if (!answer) return tl::make_unexpected(answer.error());
  tell_usages(*answer, request.usages);
  return answer->verdict;
}

Result<Settlement> PeerStore::do_commit(const CommitRequest& request) {
  std::vector<std::string> amounts;
  for (const Amount amount : request.amounts) amounts.push_back(std::to_string(amount));
  std::vector<std::string_view> words = {"COMMIT", request.id};
  words.insert(words.end(), amounts.begin(), amounts.end());
  if (request.allow_overage) words.emplace_back("OVERAGE");
  return ask_in_turn<Settlement>(*group_, request.id, [&](Peer& peer) {
    return read_settlement(peer.address(), words[0], PeerGroup::ask_words(peer, kNever, words));
  });
}

Result<Settlement> PeerStore::do_cancel(std::string_view id) {
  return ask_in_turn<Settlement>(*group_, id, [&](Peer& peer) {
    return read_settlement(peer.address(), "CANCEL", PeerGroup::ask_words(peer, kNever, {"CANCEL", id}));
  });
}

Result<Duration> PeerStore::do_extend(std::string_view id, Duration ttl) {
  return ask_in_turn<Duration>(*group_, id, [&](Peer& peer) {
    return group_->ask<Duration>(peer, kIfLost, "STORE EXTEND", ExtendMessage{id, ttl});
  });
}

Result<std::optional<HoldInfo>> PeerStore::do_find_hold(std::string_view id) {
  auto found = ask_in_turn<HoldInfo>(*group_, id, [&](Peer& peer) -> Result<HoldInfo> {
    auto hold = group_->ask<std::optional<HoldInfo>>(peer, kIfLost, "STORE FIND", id);
    if (!hold) return tl::make_unexpected(hold.error());
    if (!*hold) return tl::make_unexpected(core::no_hold(id));
    return std::move(**hold);
  });
  if (found) return std::move(*found);
  if (found.error().code == ErrorCode::kNoHold) return std::nullopt;
  return tl::make_unexpected(found.error());
}

Result<std::vector<std::string>> PeerStore::do_holds(const MeterName& meter, std::size_t count_max) {
  return group_->ask<std::vector<std::string>>(group_->home_of(meter.key), kIfLost, "STORE HOLDS",
                                               HoldsMessage{{meter.limit, meter.key}, count_max});
}

Result<std::vector<std::string>> PeerStore::do_holds_tagged(std::string_view tag) {
  std::vector<std::string> all;
  for (const auto& peer : group_->peers()) {
    auto ids = read_strings(peer->address(), "HOLDS TAG", PeerGroup::ask_words(*peer, kIfLost, {"HOLDS", "TAG", tag}));
    if (!ids) return ids;
    all.insert(all.end(), std::move_iterator(ids->begin()), std::move_iterator(ids->end()));
  }
  return all;
}

Result<std::vector<HoldInfo>> PeerStore::do_oldest_holds(std::size_t count_max) {
  std::vector<HoldInfo> all;
  for (const auto& peer : group_->peers()) {
    auto oldest = group_->ask<std::vector<HoldInfo>>(*peer, kIfLost, "STORE OLDEST", count_max);
    if (!oldest) return oldest;
    all.insert(all.end(), std::move_iterator(oldest->begin()), std::move_iterator(oldest->end()));
  }
  std::ranges::stable_sort(all, std::greater(), &HoldInfo::age);
  if (all.size() > count_max) all.resize(count_max);
  return all;
}

}  // namespace mete::store::peers
