#include "server/limits/file_limits.h"

#include <algorithm>
#include <mutex>
#include <type_traits>

#include "base/errors.h"
#include "base/try.h"
#include "core/refusals.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// Its keys are the names of the retired limits: each has an override.
constexpr std::string_view kMarks = "mete.retired";

Error retired(std::string_view name) {
  Error error = core::unknown_limit(name);
  error.message += ": it has left the configuration file; its usage is kept until it is back there";
  return error;
}

}  // namespace

Result<std::unique_ptr<FileLimits>> FileLimits::open(std::unique_ptr<store::Store> store, store::Store& own) {
  std::unique_ptr<FileLimits> made(new FileLimits(std::move(store), own));
  TRY(made->look_again());
  return made;
}

Result<void> FileLimits::look_again() {
  std::set<std::string, std::less<>> found;
  const auto marks = TRY(own_.limit(kMarks));
  const auto names = TRY(marks ? store_->limits() : std::vector<std::string>());
  for (const std::string& name : names) {
    const auto mark = TRY(own_.override_of({kMarks, name}));
    if (mark) found.insert(name);
  }
  const std::unique_lock lock(mutex_);
  has_marks_ = marks.has_value();
  has_retired_ = !found.empty();
  retired_ = std::move(found);
  return {};
}

bool FileLimits::is_retired(std::string_view name) const {
  if (!has_retired_.load(std::memory_order_relaxed)) return false;
  const std::shared_lock lock(mutex_);
  return retired_.contains(name);
}

Result<void> FileLimits::retire(const std::string& name) {
  if (!has_marks_) {
    TRY(own_.define(stock(std::string(kMarks)).amount(1)));
    has_marks_ = true;
  }
  TRY(own_.set_override({kMarks, name}, 1));
  const std::unique_lock lock(mutex_);
  retired_.insert(name);
  has_retired_ = true;
  return {};
}

Result<void> FileLimits::revive(std::string_view name) {
  if (!is_retired(name)) return {};
  TRY(own_.set_override({kMarks, name}, std::nullopt));
  const std::unique_lock lock(mutex_);
  if (const auto found = retired_.find(name); found != retired_.end()) retired_.erase(found);
  has_retired_ = !retired_.empty();
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
  operation.visit([&]<class What>(const What& /*what*/, auto& /*answer*/) {
    is_the_stores = is_the_stores && !kLooksAtLimits<What>;
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
    const auto is_hidden = [this](const std::string& name) { return name == kMarks || is_retired(name); };
    if (names.has_value()) std::erase_if(*names, is_hidden);
    return names;
  } else if constexpr (std::is_same_v<What, core::ReadStatistics>) {
    auto statistics = TRY(pass(what, execution));
    const std::shared_lock lock(mutex_);
    statistics.retired_limits = retired_.size();
    statistics.limits -= std::min(statistics.limits, retired_.size() + (has_marks_ && &own_ == store_.get() ? 1 : 0));
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
std::optional<Error> FileLimits::refusal(const What& what) const {
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
