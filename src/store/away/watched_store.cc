#include "store/away/watched_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/lock.h"
#include "base/monotonic.h"
#include "base/time_text.h"
#include "base/try.h"
#include "store/away/refill_time.h"

namespace mete::store {

namespace {

bool is_unavailable(const Error& error) { return error.code == ErrorCode::kUnavailable; }

template <class What>
constexpr bool kIsKeyStep = std::is_constructible_v<core::KeyStep, std::in_place_type_t<What>, const What&>;

}  // namespace

WatchedStore::WatchedStore(std::unique_ptr<Store> store, WatchSettings settings)
    : store_(std::move(store)),
      settings_(std::move(settings)),
      when_wiped_(settings_.when_wiped),
      finder_(*store_, settings_.clock) {}

Result<std::unique_ptr<WatchedStore>> WatchedStore::open(std::unique_ptr<Store> store, WatchSettings settings) {
  std::unique_ptr<WatchedStore> made(new WatchedStore(std::move(store), std::move(settings)));
  if (made->settings_.has_identity) TRY(made->begin());
  if (made->settings_.has_thread) made->thread_ = std::thread([raw = made.get()] { raw->watch(); });
  return made;
}

WatchedStore::~WatchedStore() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Instant WatchedStore::clock_now() const {
  return settings_.clock != nullptr ? settings_.clock->now() : base::monotonic_now();
}

// --- Calls -----------------------------------------------------------------------------------------------------------

void WatchedStore::execute(const Operation& operation, Execution& execution) {
  if (is_closed_.load(std::memory_order_relaxed) && refuses(operation, execution)) return;
  pass_on(*store_, operation, execution);
  note(operation);
  if (settings_.has_identity) hide_limit(operation);
}

void WatchedStore::note(const Operation& operation) {
  operation.visit([this]<class What>(const What& what, const Result<typename What::Answer>& answer) {
    if (!answer.has_value()) return note_error(answer.error());
    // Statistics may be told without asking.
    if (is_out_ && !std::is_same_v<What, core::ReadStatistics> && !has_answered_.exchange(true)) wake_.notify_all();
    if constexpr (requires { what.answers; }) {
      for (const auto& each : what.answers) {
        if (!each.has_value()) note_error(each.error());
      }
      if constexpr (std::is_same_v<What, core::KeysEach>) {
        for (const core::KeyStep& step : what.steps) learn(step);
      }
    } else if constexpr (kIsKeyStep<What>) {
      learn(core::KeyStep(what));
    } else if constexpr (std::is_same_v<What, core::FindLimit>) {
      answer->has_value() ? learn(**answer) : note_gone(what.name, false);
    } else if constexpr (std::is_same_v<What, core::Define>) {
      learn(what.limit);
    } else if constexpr (std::is_same_v<What, core::Drop>) {
      note_gone(what.name, true);
    }
  });
}

void WatchedStore::note_error(const Error& error) {
  if (error.code == ErrorCode::kNoLimit && settings_.has_identity) return look_soon();  // it may have been wiped
  if (!is_unavailable(error)) return;
  unreached_.fetch_add(1, std::memory_order_relaxed);
  if (has_failed_.exchange(true, std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(mutex_);
    if (!failed_at_) failed_at_ = clock_now();
  }
  wake_.notify_all();
}

void WatchedStore::look_soon() {
  if (!is_due_.exchange(true, std::memory_order_relaxed)) wake_.notify_all();
}

// What is kept there is not a limit to anybody.
void WatchedStore::hide_limit(const Operation& operation) {
  operation.visit([]<class What>(const What& /*what*/, Result<typename What::Answer>& answer) {
    if constexpr (std::is_same_v<What, core::ListLimits>) {
      if (answer.has_value()) std::erase(*answer, LossFinder::kLimit);
    }
  });
}

bool WatchedStore::refuses(const Operation& operation, Execution& execution) {
  bool is_answered = false;
  operation.visit([&]<class What>(const What& what, auto& answer) {
    const auto refuse = [&answer](std::optional<Error> error) {
      if (error) answer = std::move(*error);
      return error.has_value();
    };
    if constexpr (std::is_same_v<What, core::TakeEach>) {
      take_those_left(what, execution);
      is_answered = true;
    } else if constexpr (std::is_same_v<What, core::KeysEach>) {
      take_steps_left(what, execution);
      is_answered = true;
    } else if constexpr (std::is_same_v<What, Take> || std::is_same_v<What, Hold>) {
      is_answered = refuse(refusal_of(what.charges));
    } else if constexpr (kIsKeyStep<What>) {
      is_answered = refuse(refusal_of(core::KeyStep(what)));
    }
  });
  return is_answered;
}

// Each is refused for itself; the others go on together.
void WatchedStore::take_those_left(const core::TakeEach& takes, Execution& execution) {
  std::vector<Charge> left;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    if (auto error = refusal_of(takes.charges.subspan(i, 1))) {
      takes.answers[i] = std::move(*error);
      continue;
    }
    left.push_back(takes.charges[i]);
    places.push_back(i);
  }
  if (left.empty()) return;
  std::vector<Result<core::Verdict>> answers(left.size());
  const core::TakeEach rest{left, answers};
  auto done = store_->run(rest, execution);
  note(Operation(rest, done));
  for (std::size_t i = 0; i < places.size(); ++i) takes.answers[places[i]] = std::move(answers[i]);
}

void WatchedStore::take_steps_left(const core::KeysEach& keys, Execution& execution) {
  std::vector<core::KeyStep> left;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < keys.steps.size(); ++i) {
    if (auto error = refusal_of(keys.steps[i])) {
      keys.answers[i] = std::move(*error);
      continue;
    }
    left.push_back(keys.steps[i]);
    places.push_back(i);
  }
  if (left.empty()) return;
  std::vector<Result<core::KeyStepAnswer>> answers(left.size());
  const core::KeysEach rest{left, answers};
  auto done = store_->run(rest, execution);
  note(Operation(rest, done));
  for (std::size_t i = 0; i < places.size(); ++i) keys.answers[places[i]] = std::move(answers[i]);
}

std::optional<Error> WatchedStore::refusal_of(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    if (auto error = refusal_within(refill_time(charge.limit), charge.limit)) return error;
  }
  return std::nullopt;
}

std::optional<Error> WatchedStore::refusal_of(const core::KeyStep& step) {
  learn(step);
  return refusal_within(refill_time(step), core::key_of(step));
}

// `needed`: how long after a loss it is refused.
std::optional<Error> WatchedStore::refusal_within(const Result<Duration>& needed, std::string_view name) {
  const Duration lost_for = store_->now() - Instant::from_unix_seconds(static_cast<std::uint64_t>(closure().lost_at));
  if (needed.has_value() && lost_for >= *needed) return std::nullopt;
  closed_to_.fetch_add(1, std::memory_order_relaxed);
  if (!needed.has_value()) return needed.error();
  std::string message = "the store has lost what it had counted: '" + std::string(name) + "' is refused ";
  message += needed->is_never() ? "until store.when_wiped is fresh"
                                : "for another " + base::about_text(Duration::from_ns(needed->ns() - lost_for.ns()));
  return base::unavailable(message);
}

// A quota that was set since the loss goes by the rule that it has.
Result<Duration> WatchedStore::refill_time(const core::KeyStep& step) {
  const Duration own = refills_within(step);
  const bool may_be_quota =
      std::holds_alternative<core::TakeQuota>(step) || std::holds_alternative<core::AddToCounter>(step);
  if (!may_be_quota) return own;
  const auto found = store_->run(core::GetQuota{core::key_of(step)});
  if (!found.has_value() && is_unavailable(found.error())) return found.error();
  return found.has_value() && *found ? std::max(own, (**found).rule.window) : own;
}

Result<Duration> WatchedStore::refill_time(std::string_view limit) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(limit);
    const bool is_known = found != known_.end() && !found->second.is_gone;
    if (is_known && clock_now() - found->second.found_at < kKnownFor) return found->second.refills_within;
  }
  const auto found = TRY(store_->limit(limit));
  if (!found) return Duration();  // whoever takes of it is told that there is none
  learn(*found);
  return refills_within(*found);
}

// --- The limits that a loss would be of ------------------------------------------------------------------------------

void WatchedStore::learn(const core::KeyStep& step) {
  if (settings_.has_identity) base::raise(keys_refill_within_ns_, refills_within(step).ns());
}

void WatchedStore::learn(const Limit& limit) {
  if (!settings_.has_identity || limit.name() == LossFinder::kLimit) return;
  const Known known = {.refills_within = refills_within(limit), .found_at = clock_now()};
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(limit.name());
  if (found != known_.end()) {
    found->second = known;
  } else if (known_.size() < kKnownMax) {
    known_.emplace(limit.name(), known);
  } else {
    others_refill_within_ = std::max(others_refill_within_, known.refills_within);
  }
}

// One that is not found may have gone by a loss that is yet to be noticed.
void WatchedStore::note_gone(std::string_view limit, bool is_dropped) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(limit);
  if (found == known_.end()) return;
  if (is_dropped) {
    known_.erase(found);
    return;
  }
  found->second.is_gone = has_gone_ = true;
  found->second.found_at = clock_now();
}

void WatchedStore::forget_gone(Instant since) {
  const std::lock_guard lock(mutex_);
  if (!has_gone_ || is_closed_) return;
  has_gone_ = false;
  std::erase_if(known_, [&](const auto& each) {
    const bool is_gone = each.second.is_gone && each.second.found_at <= since;
    has_gone_ = has_gone_ || (each.second.is_gone && !is_gone);
    return is_gone;
  });
}

Result<void> WatchedStore::learn_all() {
  const auto names = TRY(store_->limits());
  for (const std::string& name : names) {
    if (const auto known = refill_time(name); !known.has_value()) return known.error();
  }
  return {};
}

Amount WatchedStore::refilled_at(Amount lost_at) const {
  const std::lock_guard lock(mutex_);
  Duration longest = std::max(others_refill_within_, Duration::from_ns(keys_refill_within_ns_.load()));
  for (const auto& [name, known] : known_) longest = std::max(longest, known.refills_within);
  return longest.is_never() ? kAmountMax : lost_at + longest.seconds();
}

// --- The server's settings and its questions -------------------------------------------------------------------------

std::optional<RemoteStatus> WatchedStore::remote() const {
  auto status = store_->remote();
  if (!status) return status;
  const std::lock_guard lock(mutex_);
  status->is_reachable = status->is_reachable && (!outage_ || has_answered_);
  if (outage_) status->away_for = clock_now() - outage_->since;
  status->outages = outages_;
  status->refused = unreached_.load(std::memory_order_relaxed) + closed_to_.load(std::memory_order_relaxed);
  status->losses = losses_;
  if (is_closed_.load(std::memory_order_relaxed)) status->loss = loss_;
  return status;
}

void WatchedStore::on_loss(std::function<Result<void>()> define_again) {
  const std::lock_guard lock(mutex_);
  define_again_ = std::move(define_again);
}

void WatchedStore::set_when_wiped(WhenWiped when_wiped) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(when_wiped_, when_wiped) == when_wiped) return;
    if (when_wiped == WhenWiped::kFresh) is_closed_ = false;
    may_be_kept_ = true;
  }
  look_soon();
}

// --- Looks -----------------------------------------------------------------------------------------------------------

void WatchedStore::watch() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    wake_.wait_for(lock, std::chrono::nanoseconds(kLookEvery.ns()),
                   [this] { return is_stopping_ || (outage_ ? has_answered_.load() : has_failed_ || is_due_); });
    if (is_stopping_) return;
    lock.unlock();
    look();
    lock.lock();
    // Calls that fail while the store is there would otherwise be followed by a look each.
    wake_.wait_for(lock, std::chrono::nanoseconds(kPauseMin.ns()), [this] { return is_stopping_; });
  }
}

// Who may not keep anything there leaves this to those who may.
Result<void> WatchedStore::begin() {
  auto begun = [this]() -> Result<void> {
    const auto identity = TRY(finder_.read(LossFinder::kIdentityKey));
    TRY(finder_.begin(identity));
    return keep_closure();
  }();
  if (!begun && is_unavailable(begun.error())) return begun;
  warn_if_blind(begun);
  return {};
}

void WatchedStore::look() {
  const std::lock_guard looking(looking_);
  const Instant since = clock_now();
  has_failed_ = false;
  is_due_ = false;
  has_answered_ = false;
  const auto identity = finder_.read(LossFinder::kIdentityKey);
  if (!identity.has_value() && is_unavailable(identity.error())) return note_reach(identity.error());
  const auto is_whole = [this] {
    const auto remote = store_->remote();
    return !remote || remote->is_reachable;
  };
  if (!is_whole()) {
    // Asks all servers of a group, those that nobody else asks too: so the end of this is found.
    (void)store_->run(core::CountKeys());
    if (!is_whole()) return note_reach(base::unavailable("a server of it does not answer"));
  }
  note_reach(std::nullopt);
  if (!settings_.has_identity) return;
  warn_if_blind(identity.has_value() ? look_for_loss(*identity, since) : Result<void>(identity.error()));
  mend();
}

void WatchedStore::note_reach(const std::optional<Error>& failure) {
  const Instant now = clock_now();
  const std::lock_guard lock(mutex_);
  const std::uint64_t unreached = unreached_.load(std::memory_order_relaxed);
  if (failure && !outage_) {
    outage_ = {.since = failed_at_.value_or(now), .unreached_before = unreached_before_};
    is_out_ = true;
    ++outages_;
    if (settings_.log != nullptr) {
      settings_.log->error("the store is away", {{"store", settings_.name}, {"reason", failure->message}});
    }
  }
  if (failure) return;
  failed_at_.reset();
  unreached_before_ = unreached;
  if (!outage_) return;
  if (settings_.log != nullptr) {
    settings_.log->info("the store is back", {{"store", settings_.name},
                                              {"away_ms", (now - outage_->since).ms()},
                                              {"refused", unreached - outage_->unreached_before}});
  }
  outage_.reset();
  is_out_ = false;
}

void WatchedStore::warn_if_blind(const Result<void>& looked) {
  if (looked) blindness_.clear();
  if (looked || is_unavailable(looked.error()) || looked.error().message == blindness_) return;
  blindness_ = looked.error().message;
  if (settings_.log == nullptr) return;
  settings_.log->warning("that the store loses its state may not be noticed",
                         {{"store", settings_.name}, {"reason", blindness_}});
}

void WatchedStore::mend() {
  const Instant now = clock_now();
  if (!needs_mending_ || (mended_at_ && now - *mended_at_ < kLookEvery)) return;
  mended_at_ = now;
  const auto define_again = [this] {
    const std::lock_guard lock(mutex_);
    return define_again_;
  }();
  const auto done = define_again ? define_again() : Result<void>();
  needs_mending_ = !done;
  const std::string failure = done ? "" : done.error().message;
  if (std::exchange(mend_failure_, failure) == failure || done || settings_.log == nullptr) return;
  settings_.log->error("the limits that the store has lost cannot be defined again",
                       {{"store", settings_.name}, {"reason", failure}});
}

// --- Losses ----------------------------------------------------------------------------------------------------------

// What is kept for other servers comes before what tells them to look for it.
Result<void> WatchedStore::look_for_loss(std::optional<Amount> identity, Instant since) {
  const auto loss = TRY(finder_.find(identity));
  if (loss) {
    note_loss(*loss);
  } else {
    forget_gone(since);
  }
  TRY(keep_closure());
  return finder_.settle();
}

void WatchedStore::note_loss(const std::string& reason) {
  needs_mending_ = true;
  mended_at_.reset();
  is_kept_ = false;
  const std::lock_guard lock(mutex_);
  ++losses_;
  loss_ = reason;
  closure_ = {.lost_at = static_cast<Amount>((store_->now() - Instant()).seconds())};
  is_closed_ = when_wiped_ == WhenWiped::kClosed;
  may_be_kept_ = true;
  if (settings_.log == nullptr) return;
  settings_.log->error("the store has lost its state",
                       {{"store", settings_.name},
                        {"reason", reason},
                        {"takes", is_closed_ ? "refused until fresh meters are as strict; store.when_wiped = \"fresh\" "
                                               "admits them at once"
                                             : "admitted from fresh meters"}});
}

Result<void> WatchedStore::keep_closure() {
  bool is_fresh = false;
  {
    const std::lock_guard lock(mutex_);
    is_fresh = when_wiped_ == WhenWiped::kFresh;
    const bool may_be_kept = std::exchange(may_be_kept_, false) || finder_.is_settling();
    if (!is_closed_ && !may_be_kept) return {};
  }
  auto done = [&]() -> Result<void> {
    const auto kept = TRY(read_closure());
    if (is_closed_) return keep_closed(kept);
    if (!kept || kept->is_over()) return {};
    if (is_fresh) return finder_.write(LossFinder::kLostAtKey, Closure::kOver);
    join(*kept);
    return {};
  }();
  if (done) return done;
  const std::lock_guard lock(mutex_);
  may_be_kept_ = true;
  return done;
}

Result<void> WatchedStore::keep_closed(std::optional<Closure> kept) {
  if (kept && kept->is_over()) {
    if (is_kept_) {
      reopen();  // another server has, for all
      return {};
    }
    kept.reset();  // that was another loss
  }
  Closure wanted = closure();
  if (kept) {
    const bool is_anothers = !is_kept_ && !finder_.has_found();
    wanted.lost_at = is_anothers ? kept->lost_at : std::max(wanted.lost_at, kept->lost_at);
    wanted.refilled_at = std::max(wanted.refilled_at, kept->refilled_at);
  }
  const auto is_over = [&] {
    wanted.refilled_at = std::max(wanted.refilled_at, refilled_at(wanted.lost_at));
    return !needs_mending_ && seconds_there() >= wanted.refilled_at;
  };
  if (is_over()) {
    TRY(learn_all());  // those that others have defined again
    if (is_over()) {
      auto written = finder_.write(LossFinder::kLostAtKey, Closure::kOver);
      if (!written && is_unavailable(written.error())) return written;
      reopen();
      return {};
    }
  }
  set_closure(wanted);
  if (kept != wanted) TRY(write_closure(wanted));
  is_kept_ = true;
  return {};
}

Result<std::optional<WatchedStore::Closure>> WatchedStore::read_closure() {
  const auto lost_at = TRY(finder_.read(LossFinder::kLostAtKey));
  if (!lost_at) return std::nullopt;
  const auto refilled_at = TRY(finder_.read(LossFinder::kRefilledAtKey));
  return std::optional(Closure{.lost_at = *lost_at, .refilled_at = refilled_at.value_or(0)});
}

Result<void> WatchedStore::write_closure(const Closure& closure) {
  TRY(finder_.write(LossFinder::kRefilledAtKey, closure.refilled_at));
  return finder_.write(LossFinder::kLostAtKey, closure.lost_at);
}

WatchedStore::Closure WatchedStore::closure() const {
  const std::lock_guard lock(mutex_);
  return closure_;
}

void WatchedStore::set_closure(const Closure& closure) {
  const std::lock_guard lock(mutex_);
  closure_ = closure;
}

// Of a loss that other servers have noticed, before this one began.
void WatchedStore::join(const Closure& kept) {
  is_kept_ = true;
  const std::string at = base::time_text(Instant::from_unix_seconds(static_cast<std::uint64_t>(kept.lost_at)));
  const std::lock_guard lock(mutex_);
  if (when_wiped_ == WhenWiped::kFresh) return;
  closure_ = kept;
  loss_ = "it was lost at " + at;
  is_closed_ = true;
  if (settings_.log == nullptr) return;
  settings_.log->error(
      "the store had lost its state: takes are refused until fresh meters are as strict",
      {{"store", settings_.name}, {"lost_at", at}, {"remedy", "store.when_wiped = \"fresh\" admits them at once"}});
}

void WatchedStore::reopen() {
  const std::lock_guard lock(mutex_);
  is_closed_ = false;
  if (settings_.log == nullptr) return;
  settings_.log->info("nothing is refused any more for what the store has lost", {{"store", settings_.name}});
}

}  // namespace mete::store
