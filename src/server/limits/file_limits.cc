#include "server/limits/file_limits.h"

#include <algorithm>
#include <mutex>
#include <type_traits>

#include "base/errors.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "core/refusals.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// Its keys are the names of the retired limits: each has an override.
constexpr std::string_view kMarks = "mete.retired";
// Behind the name of the marks of a server whose store this one is; twice for those of a server in front of that.
constexpr char kOfOthers = '+';

Error retired(std::string_view name) {
  Error error = core::unknown_limit(name);
  error.message += ": it has left the configuration file; its usage is kept until it is back there";
  return error;
}

std::string_view limit_of(const core::FindLimit& find) { return find.name; }
std::string_view limit_of(const core::Drop& drop) { return drop.name; }
std::string_view limit_of(const core::Define& define) { return define.limit.name(); }
std::string_view limit_of(const core::Override& change) { return change.meter.limit; }
std::string_view limit_of(const core::FindOverride& find) { return find.meter.limit; }

// The same of another limit.
core::FindLimit of(core::FindLimit find, std::string_view limit) {
  find.name = limit;
  return find;
}
core::Drop of(core::Drop drop, std::string_view limit) {
  drop.name = limit;
  return drop;
}
core::Define of(const core::Define& define, std::string_view limit) {
  LimitFields fields = define.limit.fields();
  fields.name = std::string(limit);
  return {Limit(std::move(fields))};
}
core::Override of(core::Override change, std::string_view limit) {
  change.meter.limit = limit;
  return change;
}
core::FindOverride of(core::FindOverride find, std::string_view limit) {
  find.meter.limit = limit;
  return find;
}

// What is done with marks. Own ones do not come this way: they go to the store that is held.
template <class What>
constexpr bool kMayBeOfMarks = requires(const What& what) {
  limit_of(what);
};

}  // namespace

Result<std::unique_ptr<FileLimits>> FileLimits::open(std::unique_ptr<store::Store> store, store::Store& own,
                                                     const Clock* clock) {
  std::unique_ptr<FileLimits> made(new FileLimits(std::move(store), own, clock));
  TRY(made->look_again());
  return made;
}

Instant FileLimits::clock_now() const { return clock_ != nullptr ? clock_->now() : base::monotonic_now(); }

Result<void> FileLimits::look_again() {
  std::map<std::string, Instant, std::less<>> found;
  const auto marks = TRY(own_.limit(kMarks));
  const auto names = TRY(marks ? store_->limits() : std::vector<std::string>());
  for (const std::string& name : names) {
    const auto mark = TRY(own_.override_of({kMarks, name}));
    if (mark) found.emplace(name, clock_now());
  }
  const std::unique_lock lock(mutex_);
  has_marks_ = marks.has_value();
  has_retired_ = !found.empty();
  retired_ = std::move(found);
  return {};
}

// One of those who ask looks for the mark, and the others go by what was found before.
bool FileLimits::is_retired(std::string_view name) {
  if (!has_retired_.load(std::memory_order_relaxed)) return false;
  const Instant now = clock_now();
  {
    const std::shared_lock lock(mutex_);
    const auto found = retired_.find(name);
    if (found == retired_.end()) return false;
    if (now - found->second < kLookEvery) return true;
  }
  {
    const std::unique_lock lock(mutex_);
    const auto found = retired_.find(name);
    if (found == retired_.end()) return false;
    if (now - found->second < kLookEvery) return true;
    found->second = now;
  }
  const auto mark = own_.override_of({kMarks, name});
  const bool is_gone = mark.has_value() ? !mark->has_value() : mark.error().code == ErrorCode::kNoLimit;
  if (!is_gone) return true;
  const std::unique_lock lock(mutex_);
  const auto found = retired_.find(name);
  const bool is_retired_again = found != retired_.end() && found->second != now;
  if (!is_retired_again) forget(name);
  return is_retired_again;
}

// Under mutex_.
void FileLimits::forget(std::string_view name) {
  if (const auto found = retired_.find(name); found != retired_.end()) retired_.erase(found);
  has_retired_ = !retired_.empty();
}

// Another server may have been the first to retire a limit.
Result<bool> FileLimits::has_marks() {
  if (!has_marks_) has_marks_ = TRY(own_.limit(kMarks)).has_value();
  return has_marks_.load();
}

Result<void> FileLimits::retire(const std::string& name) {
  if (!TRY(has_marks())) {
    TRY(own_.define(stock(std::string(kMarks)).amount(1)));
    has_marks_ = true;
  }
  TRY(own_.set_override({kMarks, name}, 1));
  const std::unique_lock lock(mutex_);
  retired_.insert_or_assign(name, clock_now());
  has_retired_ = true;
  return {};
}

// Also of one that only other servers have retired.
Result<void> FileLimits::revive(std::string_view name) {
  if (TRY(has_marks())) TRY(own_.set_override({kMarks, name}, std::nullopt));
  const std::unique_lock lock(mutex_);
  forget(name);
  return {};
}

void FileLimits::set_file(std::span<const FileLimit> limits) {
  const std::unique_lock lock(mutex_);
  file_.clear();
  for (const FileLimit& each : limits) file_.emplace(each.limit.name(), each.place);
}

// Operations that concern the limits themselves; all others are the held store's as long as no limit is retired.
template <class What>
constexpr bool kLooksAtLimits =
    std::is_same_v<What, core::Drop> || std::is_same_v<What, core::Define> || std::is_same_v<What, core::FindLimit> ||
    std::is_same_v<What, core::ListLimits> || std::is_same_v<What, core::ReadStatistics>;

void FileLimits::execute(const store::Operation& operation, store::Execution& execution) {
  bool is_the_stores = !has_retired_.load(std::memory_order_relaxed);
  operation.visit([&]<class What>(const What& what, auto& /*answer*/) {
    is_the_stores = is_the_stores && !kLooksAtLimits<What>;
    if constexpr (kMayBeOfMarks<What>) is_the_stores = is_the_stores && !limit_of(what).starts_with(kMarks);
  });
  if (is_the_stores) return pass_on(*store_, operation, execution);
  operation.answer_by([&]<class What>(const What& what) -> Result<typename What::Answer> {
    if (has_retired_.load(std::memory_order_relaxed)) {
      if (auto error = refusal(what)) return std::move(*error);
    }
    return perform(what, execution);
  });
}

// The operation goes on as it came: it has been checked.
template <class What>
Result<typename What::Answer> FileLimits::pass(const What& what, store::Execution& execution) {
  Result<typename What::Answer> answer;
  pass_on(*store_, store::Operation(what, answer), execution);
  return answer;
}

template <class What>
Result<typename What::Answer> FileLimits::perform(const What& what, store::Execution& execution) {
  if constexpr (kMayBeOfMarks<What>) {
    if (limit_of(what).starts_with(kMarks)) {
      const std::string others = std::string(limit_of(what)) + kOfOthers;
      return pass(of(what, others), execution);
    }
  }
  if constexpr (std::is_same_v<What, core::Drop>) {
    if (auto error = refusal_of_drop(what.name)) return std::move(*error);
    const auto was_there = TRY(pass(what, execution));
    TRY(revive(what.name));
    return was_there;
  } else if constexpr (std::is_same_v<What, core::Define>) {
    TRY(pass(what, execution));
    return revive(what.limit.name());
  } else if constexpr (std::is_same_v<What, core::FindLimit>) {
    if (is_retired(what.name)) return std::nullopt;
    return pass(what, execution);
  } else if constexpr (std::is_same_v<What, core::ListLimits>) {
    auto names = pass(what, execution);
    const auto is_hidden = [this](const std::string& name) { return name.starts_with(kMarks) || is_retired(name); };
    if (names.has_value()) std::erase_if(*names, is_hidden);
    return names;
  } else if constexpr (std::is_same_v<What, core::ReadStatistics>) {
    auto statistics = TRY(pass(what, execution));
    const std::shared_lock lock(mutex_);
    statistics.retired_limits = retired_.size();
    return statistics;
  } else if constexpr (std::is_same_v<What, core::TakeEach>) {
    const auto is_refused = [this](const Charge& charge) { return is_retired(charge.limit); };
    if (std::ranges::none_of(what.charges, is_refused)) return pass(what, execution);
    for (std::size_t i = 0; i < what.charges.size(); ++i) {
      const store::Take take{.charges = what.charges.subspan(i, 1)};
      auto error = refusal(take);
      what.answers[i] = error ? std::move(*error) : pass(take, execution);
    }
    return {};
  } else {
    return pass(what, execution);
  }
}

// What has been charged can be given back and what is held be settled: nothing else is done to a retired limit.
template <class What>
std::optional<Error> FileLimits::refusal(const What& what) {
  if constexpr (requires { what.take; }) {
    return refusal(what.take);
  } else if constexpr (std::is_same_v<What, core::Give> || std::is_same_v<What, core::TakeEach>) {
    return std::nullopt;
  } else if constexpr (requires { what.charges; }) {
    for (const Charge& charge : what.charges) {
      if (is_retired(charge.limit)) return retired(charge.limit);
    }
  } else if constexpr (requires { what.meter; }) {
    if (is_retired(what.meter.limit)) return retired(what.meter.limit);
  } else if constexpr (std::is_same_v<What, core::ScanUsage> || std::is_same_v<What, core::ShiftUsage>) {
    if (is_retired(what.limit)) return retired(what.limit);
  }
  return std::nullopt;
}

std::optional<Error> FileLimits::refusal_of_drop(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = file_.find(name);
  if (found == file_.end()) return std::nullopt;
  return base::invalid("limit " + wire::quote(name) + " stands in " + found->second +
                       ": the next start would define it again. Take it out of the file, and then delete it here to "
                       "drop its usage as well");
}

}  // namespace mete::server
