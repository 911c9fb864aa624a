// The C API: each call is the Limiter's of that name, with its Result as a status.
//
// No exception leaves it. What a structure has beyond the caller's size is left alone.
#include <mete/c.h>
#include <mete/mete.h>

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "base/errors.h"

struct mete_limiter {
  mete::Limiter limiter;
};

namespace mete {

namespace {

thread_local std::string last_error;

mete_status fail(const Error& error) {
  last_error = std::string(to_string(error.code)) + " " + error.message;
  return static_cast<mete_status>(static_cast<int>(error.code) + 1);
}
static_assert(static_cast<int>(ErrorCode::kInvalid) + 1 == METE_INVALID);
static_assert(static_cast<int>(ErrorCode::kNoLimit) + 1 == METE_NO_LIMIT);
static_assert(static_cast<int>(ErrorCode::kExceeds) + 1 == METE_EXCEEDS);
static_assert(static_cast<int>(ErrorCode::kUnavailable) + 1 == METE_UNAVAILABLE);
static_assert(METE_ID_BYTES == kIdBytesMax + 1);

// What was compiled against a version of mete/c.h finds its members where they were. On a machine of 64 bits:
static_assert(sizeof(void*) != 8 || (offsetof(mete_limit, name) == 8 && offsetof(mete_limit, kind) == 16 &&
                                     offsetof(mete_limit, amount) == 24 && offsetof(mete_limit, period_ns) == 32 &&
                                     offsetof(mete_limit, burst) == 40 && offsetof(mete_limit, unit) == 48 &&
                                     offsetof(mete_limit, zone) == 56 && offsetof(mete_limit, anchor) == 64 &&
                                     offsetof(mete_limit, is_shadow) == 68 && offsetof(mete_limit, durable) == 72 &&
                                     sizeof(mete_limit) == 80));
static_assert(sizeof(void*) != 8 || (offsetof(mete_charge, limit) == 0 && offsetof(mete_charge, limit_size) == 8 &&
                                     offsetof(mete_charge, key) == 16 && offsetof(mete_charge, key_size) == 24 &&
                                     offsetof(mete_charge, cost) == 32 && sizeof(mete_charge) == 40));
static_assert(sizeof(void*) != 8 || (offsetof(mete_take_options, mode) == 8 && offsetof(mete_take_options, id) == 16 &&
                                     sizeof(mete_take_options) == 24));
static_assert(sizeof(void*) != 8 || (offsetof(mete_hold_options, id) == 8 && offsetof(mete_hold_options, tag) == 16 &&
                                     sizeof(mete_hold_options) == 24));
static_assert(sizeof(void*) != 8 ||
              (offsetof(mete_decision, allowed) == 8 && offsetof(mete_decision, unrecorded) == 12 &&
               offsetof(mete_decision, violated) == 16 && offsetof(mete_decision, taken) == 24 &&
               offsetof(mete_decision, remaining) == 32 && offsetof(mete_decision, limit) == 40 &&
               offsetof(mete_decision, retry_after_ns) == 48 && offsetof(mete_decision, reset_after_ns) == 56 &&
               sizeof(mete_decision) == 64));
static_assert(sizeof(void*) != 8 ||
              (offsetof(mete_settlement, amount) == 8 && offsetof(mete_settlement, remaining) == 16 &&
               offsetof(mete_settlement, limit) == 24 && sizeof(mete_settlement) == 32));
static_assert(sizeof(void*) != 8 || (offsetof(mete_usage, used) == 8 && offsetof(mete_usage, held) == 16 &&
                                     offsetof(mete_usage, remaining) == 24 && offsetof(mete_usage, limit) == 32 &&
                                     offsetof(mete_usage, reset_after_ns) == 40 && sizeof(mete_usage) == 48));

// Carries out a call, whatever it throws: Failure where it asks for the value of an error, and std::bad_alloc.
template <class Call>
mete_status guarded(Call call) {
  try {
    call();
    return METE_OK;
  } catch (const Failure& failure) {
    return fail(failure.error());
  } catch (const std::bad_alloc&) {
    return fail({ErrorCode::kOutOfMemory, "the system has no memory left"});
  } catch (const std::exception& other) {
    return fail({ErrorCode::kUnavailable, other.what()});
  }
}

void require(bool is_met, const char* what) {
  if (!is_met) throw Failure(base::invalid(what));
}

Limiter& limiter_of(mete_limiter* limiter) {
  require(limiter != nullptr, "limiter: it must not be NULL");
  return limiter->limiter;
}

Text text_of(const char* bytes, std::size_t size = METE_ZERO_ENDED) {
  if (bytes == nullptr) return {};
  return std::string_view(bytes, size == METE_ZERO_ENDED ? std::strlen(bytes) : size);
}

using Charges = boost::container::static_vector<Charge, kChargesMax>;
Charges charges_of(const mete_charge* charges, std::size_t count) {
  require(charges != nullptr && count >= 1 && count <= kChargesMax, "charges: an operation has 1 to 16");
  Charges list;
  for (const mete_charge& charge : std::span(charges, count)) {
    list.push_back({text_of(charge.limit, charge.limit_size), text_of(charge.key, charge.key_size), charge.cost});
  }
  return list;
}

// The caller's structure as this library knows it: what the caller does not have is as its _INIT says.
template <class Structure>
Structure read(const Structure* given, Structure otherwise) {
  if (given == nullptr) return otherwise;
  require(given->size >= sizeof given->size, "size: begin with the _INIT of the structure");
  std::memcpy(&otherwise, given, std::min(given->size, sizeof otherwise));
  return otherwise;
}

// Where the caller wants an answer; NULL: nowhere. It is made before the operation is carried out: whoever is told of a
// mistake has not been charged.
template <class Structure>
class AnswerPlace {
 public:
  explicit AnswerPlace(Structure* to) : to_(to) {
    require(to == nullptr || to->size >= sizeof to->size, "size: begin with the _INIT of the structure");
  }

  void write(Structure answer) const {
    if (to_ == nullptr) return;
    answer.size = to_->size;
    std::memcpy(to_, &answer, std::min(to_->size, sizeof answer));
  }

 private:
  Structure* to_;
};

// An enumeration of C may be any number, which one of C++ must not be: so its bytes are read as one.
template <class Value, class Given>
Value enumerator(const Given& given, Given last, const char* what) {
  unsigned number = 0;
  static_assert(sizeof number == sizeof given);
  std::memcpy(&number, &given, sizeof number);
  require(number <= static_cast<unsigned>(last), what);
  return static_cast<Value>(number);
}

Limit limit_of(const mete_limit& given) {
  Limit limit(enumerator<Kind>(given.kind, METE_STOCK, "kind: there is no such"), text_of(given.name));
  limit.amount(given.amount);
  if (given.period_ns != 0) limit.per(Duration::from_ns(given.period_ns));
  if (given.burst != 0) limit.burst(given.burst);
  if (limit.kind() == Kind::kCalendar) limit.per(enumerator<Unit>(given.unit, METE_YEAR, "unit: there is no such"));
  if (given.zone != nullptr) limit.zone(given.zone);
  if (given.anchor != 0) limit.anchor(given.anchor);
  if (given.is_shadow != 0) limit.shadow();
  const int durable = enumerator<int>(given.durable, METE_NOT_AT_ALL, "durable: there is no such");
  if (durable != METE_BY_KIND) limit.durable(static_cast<Durable>(durable - METE_ALWAYS));
  return limit;
}

mete_decision answer_of(const Decision& decision) {
  mete_decision answer = METE_DECISION_INIT;
  answer.allowed = decision.is_allowed ? 1 : 0;
  answer.unrecorded = decision.is_unrecorded ? 1 : 0;
  answer.violated = decision.violated_charges;
  answer.taken = decision.taken;
  answer.remaining = decision.remaining;
  answer.limit = decision.limit;
  answer.retry_after_ns = decision.retry_after.ns();
  answer.reset_after_ns = decision.reset_after.ns();
  return answer;
}

mete_settlement answer_of(const Settlement& settlement) {
  return {sizeof(mete_settlement), settlement.amount, settlement.remaining, settlement.limit};
}
mete_usage answer_of(const Usage& usage) {
  return {sizeof(mete_usage), usage.used, usage.held, usage.remaining, usage.limit, usage.reset_after.ns()};
}

}  // namespace

}  // namespace mete

extern "C" {

const char* mete_last_error(void) { return mete::last_error.c_str(); }

mete_status mete_open(const char* url, mete_limiter** limiter) {
  return mete::guarded([&] {
    mete::require(limiter != nullptr, "limiter: it must not be NULL");
    *limiter = nullptr;
    *limiter = new mete_limiter{mete::open(mete::text_of(url)).value()};
  });
}

void mete_close(mete_limiter* limiter) { delete limiter; }

mete_status mete_define(mete_limiter* limiter, const mete_limit* limit) {
  return mete::guarded([&] {
    mete::require(limit != nullptr, "limit: it must not be NULL");
    mete::limiter_of(limiter).define(mete::limit_of(mete::read<mete_limit>(limit, METE_LIMIT_INIT))).value();
  });
}

mete_status mete_drop(mete_limiter* limiter, const char* name, int* was_defined) {
  return mete::guarded([&] {
    const bool is_dropped = mete::limiter_of(limiter).drop(mete::text_of(name)).value();
    if (was_defined != nullptr) *was_defined = is_dropped ? 1 : 0;
  });
}

mete_status mete_take(mete_limiter* limiter, const mete_charge* charges, size_t count, const mete_take_options* options,
                      mete_decision* decision) {
  return mete::guarded([&] {
    const mete::AnswerPlace place(decision);
    const auto list = mete::charges_of(charges, count);
    const auto given = mete::read<mete_take_options>(options, METE_TAKE_OPTIONS_INIT);
    const mete::TakeOptions how = {
        .mode = mete::enumerator<mete::Mode>(given.mode, METE_FORCE, "mode: there is no such"),
        .id = mete::text_of(given.id)};
    place.write(mete::answer_of(mete::limiter_of(limiter).take(list, how).value()));
  });
}

mete_status mete_peek(mete_limiter* limiter, const mete_charge* charges, size_t count, mete_decision* decision) {
  mete_take_options options = METE_TAKE_OPTIONS_INIT;
  options.mode = METE_PEEK;
  return mete_take(limiter, charges, count, &options, decision);
}

mete_status mete_give(mete_limiter* limiter, const mete_charge* charges, size_t count, const char* id,
                      mete_settlement* settlement) {
  return mete::guarded([&] {
    const mete::AnswerPlace place(settlement);
    const auto list = mete::charges_of(charges, count);
    place.write(mete::answer_of(mete::limiter_of(limiter).give(list, mete::text_of(id)).value()));
  });
}

mete_status mete_hold(mete_limiter* limiter, const mete_charge* charges, size_t count, int64_t ttl_ns,
                      const mete_hold_options* options, mete_decision* decision, char id[METE_ID_BYTES]) {
  return mete::guarded([&] {
    const mete::AnswerPlace place(decision);
    mete::require(id != nullptr, "id: there must be room for it");
    const auto list = mete::charges_of(charges, count);
    const auto given = mete::read<mete_hold_options>(options, METE_HOLD_OPTIONS_INIT);
    const auto held = mete::limiter_of(limiter)
                          .hold(list, mete::Duration::from_ns(ttl_ns),
                                {.id = mete::text_of(given.id), .tag = mete::text_of(given.tag)})
                          .value();
    place.write(mete::answer_of(held));
    std::memcpy(id, held.id.c_str(), held.id.size() + 1);
  });
}

mete_status mete_commit(mete_limiter* limiter, const char* id, const int64_t* amounts, size_t count, int overage,
                        mete_settlement* settlement) {
  return mete::guarded([&] {
    const mete::AnswerPlace place(settlement);
    mete::require(amounts != nullptr || count == 0, "amounts: they must not be NULL");
    const std::span<const mete::Amount> list(amounts, count);
    mete::Limiter& own = mete::limiter_of(limiter);
    const mete::Text hold = mete::text_of(id);
    const auto committed = overage != 0 ? own.commit_with_overage(hold, list) : own.commit(hold, list);
    place.write(mete::answer_of(committed.value()));
  });
}

mete_status mete_cancel(mete_limiter* limiter, const char* id, mete_settlement* settlement) {
  return mete::guarded([&] {
    const mete::AnswerPlace place(settlement);
    place.write(mete::answer_of(mete::limiter_of(limiter).cancel(mete::text_of(id)).value()));
  });
}

mete_status mete_extend(mete_limiter* limiter, const char* id, int64_t ttl_ns) {
  return mete::guarded(
      [&] { mete::limiter_of(limiter).extend(mete::text_of(id), mete::Duration::from_ns(ttl_ns)).value(); });
}

mete_status mete_read_usage(mete_limiter* limiter, const mete_charge* meter, mete_usage* usage) {
  return mete::guarded([&] {
    const mete::AnswerPlace place(usage);
    const auto list = mete::charges_of(meter, 1);
    place.write(mete::answer_of(mete::limiter_of(limiter).usage(list[0].limit, list[0].key).value()));
  });
}

}  // extern "C"
