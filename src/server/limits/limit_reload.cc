#include "server/limits/limit_reload.h"

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "calendar/calendar.h"
#include "core/validate.h"
#include "net/side_by_side.h"
#include "store/store.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::size_t kNamesTold = 5;
// So many limits are looked up, defined or taken out at a time where the store is elsewhere: each costs a round trip at
// least.
constexpr std::size_t kAtOnce = 64;

Error refuse_limit(const FileLimit& limit, const Error& error) {
  return Error{error.code, limit.place + ": limit " + wire::quote(limit.limit.name()) + ": " + error.message};
}

Result<void> check_calendar(const Limit& limit) {
  if (limit.kind() != Kind::kCalendar) return {};
  civil::Calendar::Spec spec{.unit = *limit.unit(), .anchor = limit.anchor().value_or(0)};
  if (limit.zone()) spec.zone = *limit.zone();
  return civil::Calendar::make(spec).map([](const civil::Calendar&) {});
}

struct Change {
  const FileLimit* wanted;
  std::optional<Limit> before;  // none: the limit is new
  bool was_retired = false;

  [[nodiscard]] bool is_noticed() const { return was_retired || before != wanted->limit; }
};

// At a start, and after a loss, also limits of a store elsewhere that are as they should be: one of several servers may
// lack what another one tells.
bool defines_all(const FileLimits& store, const LimitReload& reload) {
  return reload.previous.empty() && store.remote().has_value() && !store.draws_shares();
}

// The error is that of the first in their order which has one. None is begun after a failure.
Result<void> for_each(FileLimits& store, std::size_t count, const std::function<Result<void>(std::size_t)>& work) {
  std::vector<Result<void>> done(count);
  std::atomic<bool> has_failed{false};
  net::side_by_side(count, store.remote() ? kAtOnce : 1, [&](std::size_t i) {
    if (has_failed) return;
    done[i] = work(i);
    if (!done[i]) has_failed = true;
  });
  for (const Result<void>& each : done) TRY(each);
  return {};
}

Result<std::vector<Change>> plan(FileLimits& store, const LimitReload& reload) {
  const bool wants_all = defines_all(store, reload);
  std::vector<std::optional<Change>> found(reload.next.size());
  TRY(for_each(store, reload.next.size(), [&](std::size_t i) -> Result<void> {
    const FileLimit& wanted = reload.next[i];
    auto current = store.inside().limit(wanted.limit.name());
    if (!current.has_value()) return refuse_limit(wanted, current.error());
    Change change{&wanted, std::move(*current), store.is_retired(wanted.limit.name())};
    if (wants_all || change.is_noticed()) found[i] = std::move(change);
    return {};
  }));
  std::vector<Change> changes;
  for (std::optional<Change>& each : found) {
    if (each) changes.push_back(*std::move(each));
  }
  return changes;
}

// Those of the previous file that no longer stand there.
Result<std::vector<const FileLimit*>> plan_leaving(const LimitReload& reload) {
  std::set<std::string_view> names;
  for (const FileLimit& each : reload.next) names.insert(each.limit.name());
  std::vector<const FileLimit*> leaving;
  std::string text;
  for (const FileLimit& each : reload.previous) {
    if (names.contains(each.limit.name())) continue;
    leaving.push_back(&each);
    if (leaving.size() <= kNamesTold) text += (text.empty() ? "" : ", ") + wire::quote(each.limit.name());
  }
  if (leaving.size() <= reload.removed_max) return leaving;
  if (leaving.size() > kNamesTold) text += ", …";
  return base::invalid("the file lacks " + std::to_string(leaving.size()) + " limits that stood there before (" + text +
                       "), and server.removed_limits_max is " + std::to_string(reload.removed_max) +
                       ": if that is meant, say so by a larger one in the same file");
}

// Best effort: the store has just failed, and the error that it gave is the one to tell.
void undo(FileLimits& store, const Change& change) {
  const std::string& name = change.wanted->limit.name();
  if (change.before) {
    static_cast<void>(store.inside().define(*change.before));
  } else {
    static_cast<void>(store.inside().drop(name));
  }
  if (change.was_retired) static_cast<void>(store.retire(name));
}

// Whoever defines a limit takes it out of the retired ones.
Result<void> define_all(FileLimits& store, std::span<const Change> changes) {
  std::vector<char> is_defined(changes.size());
  auto done = for_each(store, changes.size(), [&](std::size_t i) -> Result<void> {
    const FileLimit& wanted = *changes[i].wanted;
    if (const auto defined = store.define(wanted.limit); !defined) return refuse_limit(wanted, defined.error());
    is_defined[i] = 1;
    return {};
  });
  for (std::size_t i = 0; !done && i < changes.size(); ++i) {
    if (is_defined[i] != 0) undo(store, changes[i]);
  }
  return done;
}

// False if there is no such limit any more.
Result<bool> leave(FileLimits& store, const std::string& name, bool is_dropped) {
  if (is_dropped) return store.drop(name);
  const auto found = TRY(store.limit(name));
  if (found) TRY(store.retire(name));
  return found.has_value();
}

}  // namespace

Result<void> check_limit(const Limit& limit) {
  TRY(core::validate_limit(limit));
  return check_calendar(limit);
}

Result<LimitChanges> apply_limits(FileLimits& store, const LimitReload& reload) {
  for (const FileLimit& each : reload.next) {
    if (const auto ok = check_limit(each.limit); !ok) return refuse_limit(each, ok.error());
    if (const auto ok = store::check_scope(store, each.limit); !ok) return refuse_limit(each, ok.error());
  }
  const auto leaving = TRY(plan_leaving(reload));
  const auto changes = TRY(plan(store, reload));
  TRY(define_all(store, changes));
  store.set_file(reload.next);

  LimitChanges done;
  for (const Change& change : changes) {
    if (!change.is_noticed()) continue;
    const bool was_there = change.before && !change.was_retired;
    (was_there ? done.changed : done.added).push_back(change.wanted->limit.name());
  }
  std::vector<char> has_left(leaving.size());
  TRY(for_each(store, leaving.size(), [&](std::size_t i) -> Result<void> {
    const auto left = leave(store, leaving[i]->limit.name(), reload.drops_removed);
    if (!left.has_value()) return refuse_limit(*leaving[i], left.error());
    has_left[i] = *left ? 1 : 0;
    return {};
  }));
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    if (has_left[i] != 0) done.removed.push_back(leaving[i]->limit.name());
  }
  return done;
}

}  // namespace mete::server
