// Shifts: usage brought to what a source of truth says, many keys in one round trip.

#include <algorithm>

#include "core/refusals.h"
#include "store/redis/answers.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

namespace {

// So many at a time leave Redis room for others in between, and fit well into the time-out of a call.
constexpr std::size_t kTogetherMax = 200;

}  // namespace

Result<void> RedisStore::check_shifts(std::string_view limit) {
  const Charge charge{.limit = limit, .key = {}, .cost = 0};
  const auto meters = merge({&charge, 1});
  if (!meters) return tl::make_unexpected(meters.error());
  const Kind kind = meters->list[0].limit->definition().kind();
  if (!core::can_shift(kind)) return tl::make_unexpected(core::cannot_shift(limit, kind));
  return {};
}

void RedisStore::do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  if (auto ok = check_shifts(request.limit); !ok) {
    std::fill(answers.begin(), answers.end(), tl::make_unexpected(ok.error()));
    return;
  }
  for (std::size_t first = 0; first < request.shifts.size(); first += kTogetherMax) {
    const std::size_t count = std::min(kTogetherMax, request.shifts.size() - first);
    shift_together({.limit = request.limit, .since = request.since, .shifts = request.shifts.subspan(first, count)},
                   answers.subspan(first, count));
  }
}

// A shift that something stands in the way of has not happened: it is made once more, by itself.
void RedisStore::shift_together(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  const auto write = [&](const Meters&, Call& call) {
    call.arguments.push_back("shift");
    call.arguments.push_back("1 " + std::to_string(us_of(request.since)));
  };
  const auto charge_of = [&](const Shift& shift) {
    return Charge{.limit = request.limit, .key = shift.key, .cost = shift.change};
  };
  Batch batch;
  for (const Shift& shift : request.shifts) {
    const Charge charge = charge_of(shift);
    const auto meters = merge({&charge, 1});
    if (!meters) {
      std::fill(answers.begin(), answers.end(), tl::make_unexpected(meters.error()));
      return;
    }
    add_settle(*meters, write, us_of(now()), batch);
  }
  Replies replies;
  link_->run(batch, replies);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const auto reply = unless_error(std::move(replies[i]));
    if (!reply) {
      answers[i] = tl::make_unexpected(reply.error());
    } else if (stands_in_the_way(*reply)) {
      const Charge charge = charge_of(request.shifts[i]);
      const auto again = settle({&charge, 1}, write);
      answers[i] = again ? read_shift(again->reply) : tl::make_unexpected(again.error());
    } else {
      answers[i] = read_shift(*reply);
    }
  }
}

Result<Shifted> RedisStore::read_shift(const wire::RespValue& reply) {
  if (reply.elements.size() < 2) return tl::make_unexpected(unexpected_reply("an answer to a script"));
  saw(reply.elements[1].text);
  if (reply.elements[0].text == "late") return Shifted{.is_late = true};
  if (reply.elements.size() < 3) return tl::make_unexpected(unexpected_reply("an answer to a script"));
  return Shifted{.change = static_cast<Amount>(std::stoll(reply.elements[2].text))};
}

}  // namespace mete::store::redis
