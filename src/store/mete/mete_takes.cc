// What goes to several servers in parts.

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
  server.run(call);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    takes.answers[numbers[i]] = group_->read(server, Take{.charges = {&taken[i], 1}}, call.reply(i));
  }
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

Result<void> MeteStore::perform(const core::KeysEach& keys) {
  for_each_home(*group_, keys.steps, core::key_of,
                [&](Server& server, std::span<const std::size_t> numbers) { step_there(server, keys, numbers); });
  return {};
}

void MeteStore::step_there(Server& server, const core::KeysEach& keys, std::span<const std::size_t> numbers) {
  Call call(false);
  for (const std::size_t number : numbers) {
    std::visit([&](const auto& step) { call.add(step); }, keys.steps[number]);
  }
  server.run(call);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto read = [&](const auto& step) -> Result<core::KeyStepAnswer> {
      return group_->read(server, step, call.reply(i));
    };
    keys.answers[numbers[i]] = std::visit(read, keys.steps[numbers[i]]);
  }
}

}  // namespace mete::store::servers
