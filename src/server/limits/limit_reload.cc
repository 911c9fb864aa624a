#include "server/limits/limit_reload.h"

#include <optional>
#include <set>
#include <utility>

#include "base/try.h"
#include "calendar/calendar.h"
#include "core/validate.h"
#include "store/store.h"
#include "wire/text.h"

namespace mete::server {

namespace {

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
};

Result<std::vector<Change>> plan(store::Store& store, std::span<const FileLimit> limits) {
  std::vector<Change> changes;
  for (const FileLimit& wanted : limits) {
    auto current = store.limit(wanted.limit.name());
    if (!current.has_value()) return refuse_limit(wanted, current.error());
    if (*current != wanted.limit) changes.push_back({&wanted, std::move(*current)});
  }
  return changes;
}

// Best effort: the store has just failed, and the error that it gave is the one to tell.
void undo(store::Store& store, std::span<const Change> changes) {
  for (const Change& change : changes) {
    if (change.before) {
      static_cast<void>(store.define(*change.before));
    } else {
      static_cast<void>(store.drop(change.wanted->limit.name()));
    }
  }
}

Result<void> define_all(store::Store& store, std::span<const Change> changes) {
  for (std::size_t index = 0; index < changes.size(); ++index) {
    const FileLimit& wanted = *changes[index].wanted;
    const auto defined = store.define(wanted.limit);
    if (defined) continue;
    undo(store, changes.first(index));
    return refuse_limit(wanted, defined.error());
  }
  return {};
}

}  // namespace

Result<void> check_limit(const Limit& limit) {
  TRY(core::validate_limit(limit));
  return check_calendar(limit);
}

Result<LimitChanges> apply_limits(store::Store& store, const LimitReload& reload) {
  for (const FileLimit& each : reload.next) {
    if (const auto ok = check_limit(each.limit); !ok) return refuse_limit(each, ok.error());
    if (const auto ok = store::check_scope(store, each.limit); !ok) return refuse_limit(each, ok.error());
  }
  const auto changes = TRY(plan(store, reload.next));
  TRY(define_all(store, changes));

  LimitChanges done;
  std::set<std::string_view> names;
  for (const FileLimit& each : reload.next) names.insert(each.limit.name());
  for (const Change& change : changes) {
    (change.before ? done.changed : done.added).push_back(change.wanted->limit.name());
  }
  for (const FileLimit& old : reload.previous) {
    if (names.contains(old.limit.name())) continue;
    const auto dropped = store.drop(old.limit.name());
    if (!dropped.has_value()) return refuse_limit(old, dropped.error());
    if (*dropped) done.removed.push_back(old.limit.name());
  }
  return done;
}

}  // namespace mete::server
