// Holds. A random id belongs to the server of its hold. A given one may be at any: where it belongs is asked first.

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/refusals.h"
#include "store/mete/mete_store.h"

namespace mete::store::servers {

using enum Call::Repeat;

namespace {

// Asks one server after the other, the id's own first, until one knows the hold. While one is away that may have it,
// nobody can say that there is none.
template <class Answer, class Ask>
Result<Answer> ask_in_turn(ServerGroup& group, std::string_view id, Ask ask) {
  std::optional<Error> absence;
  Error refusal = core::no_hold(id);
  for (Server* server : group.from_home_of(id)) {
    Result<Answer> answer = ask(*server);
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

Result<core::Verdict> MeteStore::do_hold(const HoldRequest& request) {
  const auto home = group_->home_of(request.charges);
  if (!home) return tl::make_unexpected(home.error());
  // It has an id always: asked twice, it is one hold.
  const auto answer = group_->ask<VerdictMessage>(**home, kIfLost, "STORE HOLD", HoldMessage(request));
  if (!answer) return tl::make_unexpected(answer.error());
  tell_usages(*answer, request.usages);
  return answer->verdict;
}

Result<Settlement> MeteStore::do_commit(const CommitRequest& request) {
  std::vector<std::string> amounts;
  for (const Amount amount : request.amounts) amounts.push_back(std::to_string(amount));
  std::vector<std::string_view> words = {"COMMIT", request.id};
  words.insert(words.end(), amounts.begin(), amounts.end());
  if (request.allow_overage) words.emplace_back("OVERAGE");
  return ask_in_turn<Settlement>(*group_, request.id, [&](Server& server) {
    return read_settlement(server.address(), words[0], ServerGroup::ask_words(server, kNever, words));
  });
}

Result<Settlement> MeteStore::do_cancel(std::string_view id) {
  return ask_in_turn<Settlement>(*group_, id, [&](Server& server) {
    return read_settlement(server.address(), "CANCEL", ServerGroup::ask_words(server, kNever, {"CANCEL", id}));
  });
}

Result<Duration> MeteStore::do_extend(std::string_view id, Duration ttl) {
  return ask_in_turn<Duration>(*group_, id, [&](Server& server) {
    return group_->ask<Duration>(server, kIfLost, "STORE EXTEND", ExtendMessage{id, ttl});
  });
}

Result<std::optional<HoldInfo>> MeteStore::do_find_hold(std::string_view id) {
  auto found = ask_in_turn<HoldInfo>(*group_, id, [&](Server& server) -> Result<HoldInfo> {
    auto hold = group_->ask<std::optional<HoldInfo>>(server, kIfLost, "STORE FIND", id);
    if (!hold) return tl::make_unexpected(hold.error());
    if (!*hold) return tl::make_unexpected(core::no_hold(id));
    return std::move(**hold);
  });
  if (found) return std::move(*found);
  if (found.error().code == ErrorCode::kNoHold) return std::nullopt;
  return tl::make_unexpected(found.error());
}

Result<std::vector<std::string>> MeteStore::do_holds(const MeterName& meter, std::size_t count_max) {
  return group_->ask<std::vector<std::string>>(group_->home_of(meter.key), kIfLost, "STORE HOLDS",
                                               HoldsMessage{{meter.limit, meter.key}, count_max});
}

Result<std::vector<std::string>> MeteStore::do_holds_tagged(std::string_view tag) {
  std::vector<std::string> all;
  for (const auto& server : group_->servers()) {
    auto ids =
        read_strings(server->address(), "HOLDS TAG", ServerGroup::ask_words(*server, kIfLost, {"HOLDS", "TAG", tag}));
    if (!ids) return ids;
    all.insert(all.end(), std::move_iterator(ids->begin()), std::move_iterator(ids->end()));
  }
  return all;
}

Result<std::vector<HoldInfo>> MeteStore::do_oldest_holds(std::size_t count_max) {
  std::vector<HoldInfo> all;
  for (const auto& server : group_->servers()) {
    auto oldest = group_->ask<std::vector<HoldInfo>>(*server, kIfLost, "STORE OLDEST", count_max);
    if (!oldest) return oldest;
    all.insert(all.end(), std::move_iterator(oldest->begin()), std::move_iterator(oldest->end()));
  }
  std::ranges::stable_sort(all, std::greater(), &HoldInfo::age);
  if (all.size() > count_max) all.resize(count_max);
  return all;
}

}  // namespace mete::store::servers
