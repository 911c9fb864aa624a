// Takes, which may be open while their server is away; and what goes to several servers in parts.

#include <algorithm>

#include "base/monotonic.h"
#include "base/try.h"
#include "store/mete/mete_store.h"

namespace mete::store::servers {

namespace {

// Commands of one call: all of them must be answered within its time-out.
constexpr std::size_t kTogetherMax = 256;

// Runs `run` for the numbers of the keys of each server, not too many at a time. `key_of` tells the key of a part.
template <class Parts, class KeyOf, class Run>
void for_each_home(ServerGroup& group, const Parts& parts, KeyOf key_of, Run run) {
  for (const auto& server : group.servers()) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (&group.home_of(key_of(parts[i])) != server.get()) continue;
      numbers.push_back(i);
      if (numbers.size() == kTogetherMax) {
        run(*server, numbers);
        numbers.clear();
      }
    }
    if (!numbers.empty()) run(*server, numbers);
  }
}

}  // namespace

Result<core::Verdict> MeteStore::perform(const core::Take& take) {
  Server* const home = TRY(group_->home_of(take.charges));
  Call call(core::is_repeatable(take));
  call.add(take);
  const auto due = add_due_limits(take.charges, call);
  home->run(call);
  learn(*home, call, due);
  return read_take(*home, take, call.reply(0));
}

Result<void> MeteStore::perform(const core::TakeEach& takes) {
  for_each_home(
      *group_, takes.charges, [](const Charge& charge) { return charge.key; },
      [&](Server& server, std::span<const std::size_t> numbers) { take_there(server, takes, numbers); });
  return {};
}

void MeteStore::take_there(Server& server, const core::TakeEach& takes, std::span<const std::size_t> numbers) {
  Call call(false);
  std::vector<Charge> taken;
  for (const std::size_t number : numbers) taken.push_back(takes.charges[number]);
  for (const Charge& charge : taken) call.add(Take{.charges = {&charge, 1}});
  const auto due = add_due_limits(taken, call);
  server.run(call);
  learn(server, call, due);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    takes.answers[numbers[i]] = read_take(server, {.charges = {&taken[i], 1}}, call.reply(i));
  }
}

std::vector<core::FindLimit> MeteStore::add_due_limits(std::span<const Charge> charges, Call& call) {
  std::vector<core::FindLimit> asked;
  const Instant now = base::monotonic_now();
  for (const Charge& charge : charges) {
    if (std::ranges::find(asked, charge.limit, &core::FindLimit::name) != asked.end()) continue;
    if (!known_.is_due(charge.limit, now)) continue;
    asked.push_back({charge.limit});
    call.add(asked.back());
  }
  return asked;
}

void MeteStore::learn(const Server& server, Call& call, std::span<const core::FindLimit> asked) {
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto limit = group_->read(server, asked[i], call.reply(call.size() - asked.size() + i));
    if (!limit.has_value()) continue;
    if (limit->has_value()) {
      known_.learn(**limit, base::monotonic_now());
    } else {
      known_.forget(asked[i].name);
    }
  }
}

Result<core::Verdict> MeteStore::read_take(const Server& server, const Take& take,
                                           const Result<wire::RespValue>& reply) {
  auto answer = group_->read(server, take, reply);
  if (answer.has_value() || answer.error().code != ErrorCode::kUnavailable) return answer;
  const auto admitted = known_.admit_open(take);
  if (!admitted) return answer;
  unrecorded_admissions_.fetch_add(1, std::memory_order_relaxed);
  return *admitted;
}

Result<void> MeteStore::perform(const core::ShiftUsage& shifts) {
  for_each_home(
      *group_, shifts.shifts, [](const Shift& shift) { return shift.key; },
      [&](Server& server, std::span<const std::size_t> numbers) { shift_there(server, shifts, numbers); });
  return {};
}

void MeteStore::shift_there(Server& server, const core::ShiftUsage& shifts, std::span<const std::size_t> numbers) {
  Call call(false);
  std::vector<core::OneShift> sent;
  for (const std::size_t number : numbers) {
    const Shift& shift = shifts.shifts[number];
    sent.push_back({{shifts.limit, shift.key}, shifts.since, shift.change});
    call.add(sent.back());
  }
  server.run(call);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    shifts.answers[numbers[i]] = group_->read(server, sent[i], call.reply(i));
  }
}

}  // namespace mete::store::servers
