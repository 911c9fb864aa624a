// Takes, and the other operations on meters.

#include <algorithm>

#include "base/monotonic.h"
#include "store/mete/mete_store.h"

namespace mete::store::servers {

using enum Call::Repeat;

namespace {

constexpr std::string_view kTake = "STORE TAKE";
constexpr std::string_view kShift = "STORE SHIFT";
constexpr std::string_view kLimit = "STORE LIMIT";
// Commands of one call: all of them must be answered within its time-out.
constexpr std::size_t kTogetherMax = 256;

// Runs `run` for the numbers of the keys of each server, not too many at a time.
template <class Run>
void for_each_home(ServerGroup& group, std::span<const std::string_view> keys, Run run) {
  for (const auto& server : group.servers()) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (&group.home_of(keys[i]) != server.get()) continue;
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

Result<core::Verdict> MeteStore::do_take(const TakeRequest& request) {
  const auto home = group_->home_of(request.charges);
  if (!home) return tl::make_unexpected(home.error());
  const bool is_safe_twice = request.mode == Mode::kPeek || !request.id.empty();
  Call call(is_safe_twice ? kIfLost : kNever);
  call.add(kTake, TakeMessage(request));
  const auto due = add_due_limits(request.charges, call);
  (*home)->run(call);
  learn(**home, call, due);
  return read_take(**home, request, call.reply(0));
}

void MeteStore::do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
  std::vector<std::string_view> keys;
  for (const Charge& charge : charges) keys.push_back(charge.key);
  for_each_home(*group_, keys, [&](Server& server, std::span<const std::size_t> numbers) {
    take_there(server, charges, numbers, answers);
  });
}

void MeteStore::take_there(Server& server, std::span<const Charge> charges, std::span<const std::size_t> numbers,
                           std::span<Result<core::Verdict>> answers) {
  Call call(kNever);
  std::vector<Charge> taken;
  for (const std::size_t number : numbers) taken.push_back(charges[number]);
  for (const Charge& charge : taken) call.add(kTake, TakeMessage({.charges = {&charge, 1}}));
  const auto due = add_due_limits(taken, call);
  server.run(call);
  learn(server, call, due);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    answers[numbers[i]] = read_take(server, {.charges = {&taken[i], 1}}, call.reply(i));
  }
}

std::vector<std::string_view> MeteStore::add_due_limits(std::span<const Charge> charges, Call& call) {
  std::vector<std::string_view> names;
  const Instant now = base::monotonic_now();
  for (const Charge& charge : charges) {
    if (std::ranges::find(names, charge.limit) != names.end() || !known_.is_due(charge.limit, now)) continue;
    names.push_back(charge.limit);
    call.add(kLimit, charge.limit);
  }
  return names;
}

void MeteStore::learn(const Server& server, Call& call, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto limit =
        group_->read<std::optional<LimitMessage>>(server, kLimit, call.reply(call.size() - names.size() + i));
    if (!limit) continue;
    if (*limit) {
      known_.learn((*limit)->limit(), base::monotonic_now());
    } else {
      known_.forget(names[i]);
    }
  }
}

Result<core::Verdict> MeteStore::read_take(const Server& server, const TakeRequest& request,
                                           const Result<wire::RespValue>& reply) {
  const auto answer = group_->read<VerdictMessage>(server, kTake, reply);
  if (!answer) return admit_open(request, answer.error());
  tell_usages(*answer, request.usages);
  return answer->verdict;
}

Result<core::Verdict> MeteStore::admit_open(const TakeRequest& request, const Error& error) {
  const auto admitted = error.code == ErrorCode::kUnavailable ? known_.admit_open(request) : std::nullopt;
  if (!admitted) return tl::make_unexpected(error);
  unrecorded_admissions_.fetch_add(1, std::memory_order_relaxed);
  return *admitted;
}

Result<std::optional<core::Verdict>> MeteStore::do_recall(const TakeRequest& request) {
  const auto home = group_->home_of(request.charges);
  if (!home) return tl::make_unexpected(home.error());
  return group_->ask<std::optional<core::Verdict>>(**home, kIfLost, "STORE RECALL", TakeMessage(request));
}

Result<Settlement> MeteStore::do_give(std::span<const Charge> charges, std::string_view id) {
  const auto home = group_->home_of(charges);
  if (!home) return tl::make_unexpected(home.error());
  std::vector<std::string> costs;
  for (const Charge& charge : charges) costs.push_back(std::to_string(charge.cost));
  std::vector<std::string_view> words = {"GIVE"};
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (i > 0) words.emplace_back("AND");
    words.insert(words.end(), {charges[i].limit, charges[i].key, "COST", costs[i]});
  }
  if (!id.empty()) words.insert(words.end(), {"ID", id});
  return read_settlement((*home)->address(), words[0],
                         ServerGroup::ask_words(**home, id.empty() ? kNever : kIfLost, words));
}

Result<Usage> MeteStore::do_usage(const MeterName& meter) {
  return group_->ask<Usage>(group_->home_of(meter.key), kIfLost, "STORE USAGE", MeterMessage{meter.limit, meter.key});
}

Result<Reconciliation> MeteStore::do_reconcile(const MeterName& meter, Amount used) {
  Server& home = group_->home_of(meter.key);
  const auto reply = ServerGroup::ask_words(home, kNever, {"RECONCILE", meter.limit, meter.key, std::to_string(used)});
  return read_integers<2>(home.address(), "RECONCILE", reply).map([](const auto& parts) {
    return Reconciliation{.used_before = parts[0], .used_now = parts[1]};
  });
}

void MeteStore::do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  std::vector<std::string_view> keys;
  for (const Shift& shift : request.shifts) keys.push_back(shift.key);
  for_each_home(*group_, keys, [&](Server& server, std::span<const std::size_t> numbers) {
    shift_there(server, request, numbers, answers);
  });
}

void MeteStore::shift_there(Server& server, const ShiftRequest& request, std::span<const std::size_t> numbers,
                            std::span<Result<Shifted>> answers) {
  Call call(kNever);
  for (const std::size_t number : numbers) {
    const Shift& shift = request.shifts[number];
    call.add(kShift, ShiftMessage{{request.limit, shift.key}, request.since, shift.change});
  }
  server.run(call);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    answers[numbers[i]] = group_->read<Shifted>(server, kShift, call.reply(i));
  }
}

}  // namespace mete::store::servers
