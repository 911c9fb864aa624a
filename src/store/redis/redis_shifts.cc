// Shifts: usage brought to what a source of truth says, many keys in one round trip.

#include <algorithm>

#include "base/try.h"
#include "core/refusals.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"
#include "wire/text.h"

namespace mete::store::redis {

namespace {

// Meters in one call of a script, which does nothing else meanwhile: a fraction of a millisecond.
constexpr std::size_t kScriptMetersMax = 20;
// So many on the way at a time leave Redis room for others in between, and fit well into the time-out of a call.
constexpr std::size_t kTogetherMax = 400;

// What an answer says of one of the meters; empty if it says nothing.
std::string_view shift_text(const wire::RespValue& reply, std::size_t index) {
  return index + 2 < reply.elements.size() ? std::string_view(reply.elements[index + 2].text) : std::string_view();
}

Result<Shifted> read_shift(const wire::RespValue& reply, std::size_t index) {
  const std::string_view text = shift_text(reply, index);
  if (text == "late") return Shifted{.is_late = true};
  const auto change = wire::parse_integer(text);
  if (!change) return unexpected_reply("an answer to a script");
  return Shifted{.change = *change};
}

}  // namespace

Result<void> RedisStore::perform(const core::ShiftUsage& shifts) {
  for (std::size_t first = 0; first < shifts.shifts.size(); first += kTogetherMax) {
    const ShiftUsage part = shifts.part(first, kTogetherMax);
    const auto done = shift_together(part);
    if (!done) std::fill(part.answers.begin(), part.answers.end(), Result<Shifted>(done.error()));
  }
  return {};
}

// In a Cluster the meters of different keys lie apart, and each has a call of its own.
Result<void> RedisStore::shift_together(const ShiftUsage& shifts) {
  const std::size_t together = is_cluster_ ? 1 : kScriptMetersMax;
  Batch batch;
  for (std::size_t first = 0; first < shifts.shifts.size(); first += together) {
    const auto meters = TRY(shifted_meters(shifts.part(first, together)));
    add_settle(meters, write_shifts(shifts.since), us_of(now()), batch);
  }
  Replies replies;
  link_->run(batch, replies);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    read_shifts(shifts.part(i * together, together), unless_error(std::move(replies[i]), batch, i));
  }
  return {};
}

Result<RedisStore::Meters> RedisStore::shifted_meters(const ShiftUsage& shifts) {
  std::vector<Charge> charges;
  for (const Shift& shift : shifts.shifts) {
    charges.push_back({.limit = shifts.limit, .key = shift.key, .cost = shift.change});
  }
  auto meters = TRY(list_each(charges));
  const Kind kind = meters.list[0].limit->definition().kind();
  if (!core::can_shift(kind)) return core::cannot_shift(shifts.limit, kind);
  return meters;
}

RedisStore::WriteCall RedisStore::write_shifts(Instant since) {
  return [since](const Meters& meters, Call& call) {
    call.arguments.emplace_back("shift");
    call.arguments.push_back(std::to_string(meters.list.size()) + " " + std::to_string(us_of(since)));
  };
}

// A shift that something stands in the way of has not happened: it is made once more, by itself.
void RedisStore::read_shifts(const ShiftUsage& shifts, const Result<wire::RespValue>& reply) {
  for (std::size_t i = 0; i < shifts.answers.size(); ++i) {
    const bool is_in_the_way = reply && (stands_in_the_way(*reply) || is_problem(shift_text(*reply, i)));
    shifts.answers[i] = !reply          ? Result<Shifted>(reply.error())
                        : is_in_the_way ? shift_alone(shifts.part(i, 1))
                                        : read_shift(*reply, i);
  }
}

Result<Shifted> RedisStore::shift_alone(const ShiftUsage& shifts) {
  const Shift& shift = shifts.shifts[0];
  const Charge charge{.limit = shifts.limit, .key = shift.key, .cost = shift.change};
  const auto answer = TRY(settle({&charge, 1}, write_shifts(shifts.since)));
  return read_shift(answer.reply, 0);
}

}  // namespace mete::store::redis
