// Shifts: usage brought to what a source of truth says, many keys in one round trip.

#include <algorithm>

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

ShiftRequest part_of(const ShiftRequest& request, std::size_t first, std::size_t count_max) {
  const std::size_t count = std::min(count_max, request.shifts.size() - first);
  return {.limit = request.limit, .since = request.since, .shifts = request.shifts.subspan(first, count)};
}

// What an answer says of one of the meters; empty if it says nothing.
std::string_view shift_text(const wire::RespValue& reply, std::size_t index) {
  return index + 2 < reply.elements.size() ? std::string_view(reply.elements[index + 2].text) : std::string_view();
}

Result<Shifted> read_shift(const wire::RespValue& reply, std::size_t index) {
  const std::string_view text = shift_text(reply, index);
  if (text == "late") return Shifted{.is_late = true};
  const auto change = wire::parse_integer(text);
  if (!change) return tl::make_unexpected(unexpected_reply("an answer to a script"));
  return Shifted{.change = *change};
}

}  // namespace

void RedisStore::do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  for (std::size_t first = 0; first < request.shifts.size(); first += kTogetherMax) {
    const ShiftRequest part = part_of(request, first, kTogetherMax);
    shift_together(part, answers.subspan(first, part.shifts.size()));
  }
}

// In a Cluster the meters of different keys lie apart, and each has a call of its own.
void RedisStore::shift_together(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  const std::size_t together = is_cluster_ ? 1 : kScriptMetersMax;
  Batch batch;
  for (std::size_t first = 0; first < request.shifts.size(); first += together) {
    const auto meters = shifted_meters(part_of(request, first, together));
    if (!meters) {
      std::fill(answers.begin(), answers.end(), tl::make_unexpected(meters.error()));
      return;
    }
    add_settle(*meters, write_shifts(request.since), us_of(now()), batch);
  }
  Replies replies;
  link_->run(batch, replies);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const ShiftRequest part = part_of(request, i * together, together);
    read_shifts(part, unless_error(std::move(replies[i])), answers.subspan(i * together, part.shifts.size()));
  }
}

Result<RedisStore::Meters> RedisStore::shifted_meters(const ShiftRequest& request) {
  std::vector<Charge> charges;
  for (const Shift& shift : request.shifts) {
    charges.push_back({.limit = request.limit, .key = shift.key, .cost = shift.change});
  }
  auto meters = list_each(charges);
  if (!meters) return meters;
  const Kind kind = meters->list[0].limit->definition().kind();
  if (!core::can_shift(kind)) return tl::make_unexpected(core::cannot_shift(request.limit, kind));
  return meters;
}

RedisStore::WriteCall RedisStore::write_shifts(Instant since) {
  return [since](const Meters& meters, Call& call) {
    call.arguments.emplace_back("shift");
    call.arguments.push_back(std::to_string(meters.list.size()) + " " + std::to_string(us_of(since)));
  };
}

// A shift that something stands in the way of has not happened: it is made once more, by itself.
void RedisStore::read_shifts(const ShiftRequest& request, const Result<wire::RespValue>& reply,
                             std::span<Result<Shifted>> answers) {
  if (!reply) {
    std::fill(answers.begin(), answers.end(), tl::make_unexpected(reply.error()));
    return;
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool is_in_the_way = stands_in_the_way(*reply) || is_problem(shift_text(*reply, i));
    answers[i] = is_in_the_way ? shift_alone(part_of(request, i, 1)) : read_shift(*reply, i);
  }
}

Result<Shifted> RedisStore::shift_alone(const ShiftRequest& request) {
  const Shift& shift = request.shifts[0];
  const Charge charge{.limit = request.limit, .key = shift.key, .cost = shift.change};
  const auto answer = settle({&charge, 1}, write_shifts(request.since));
  if (!answer) return tl::make_unexpected(answer.error());
  return read_shift(answer->reply, 0);
}

}  // namespace mete::store::redis
