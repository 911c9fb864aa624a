#include "server/decisions/take_list.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/fiber.h"
#include "net/side_by_side.h"

namespace mete::server {

namespace {

constexpr std::size_t kTakesAtOnce = 64;

// It can share its call of the store with others.
bool is_plain(const core::Take& take) {
  return take.charges.size() == 1 && take.mode == Mode::kTake && take.id.empty() && take.usages.empty();
}

// Which step each take is in.
class Steps {
 public:
  // The first step that the take may be in: behind those that it shares something with. Plain ones of a meter may be in
  // the same one, because a TakeEach keeps their order.
  std::size_t place(const core::Take& take) {
    names_.clear();
    for (const Charge& charge : take.charges) names_.push_back(name_of(charge));
    if (!take.id.empty()) names_.push_back("i" + std::string(take.id));
    const bool plain = is_plain(take);
    std::size_t step = 0;
    for (const std::string& name : names_) {
      const auto found = last_.find(name);
      if (found == last_.end()) continue;
      step = std::max(step, found->second.step + (plain && found->second.is_plain ? 0 : 1));
    }
    for (std::string& name : names_) last_[std::move(name)] = {step, plain};
    return step;
  }

 private:
  struct Last {
    std::size_t step = 0;
    bool is_plain = false;
  };

  static std::string name_of(const Charge& charge) {
    std::string name = "m" + std::to_string(charge.limit.size()) + " ";
    name += charge.limit;
    name += charge.key;
    return name;
  }

  std::vector<std::string> names_;
  std::unordered_map<std::string, Last> last_;  // by meter and by id
};

struct Step {
  std::vector<ListedTake*> plain;
  std::vector<ListedTake*> others;
};

void take_plain(WakingStore& store, std::span<ListedTake* const> takes) {
  std::vector<Charge> charges;
  charges.reserve(takes.size());
  for (const ListedTake* each : takes) charges.push_back(each->take.charges[0]);
  std::vector<Result<core::Verdict>> answers(takes.size());
  store.take_each(charges, answers);
  for (std::size_t i = 0; i < takes.size(); ++i) takes[i]->answer = std::move(answers[i]);
}

// Each has an execution of its own: they are under way at the same time.
void carry_out(WakingStore& store, const Step& step) {
  const std::size_t calls = step.others.size() + (step.plain.empty() ? 0 : 1);
  net::side_by_side(calls, net::is_on_fiber() ? kTakesAtOnce : 1, [&](std::size_t i) {
    store::Execution own = store.begin_own();
    WakingStore apart = store.with(own);
    if (i < step.others.size()) {
      step.others[i]->answer = apart.run(step.others[i]->take);
    } else {
      take_plain(apart, step.plain);
    }
    store.note(own);
  });
}

}  // namespace

void take_all(WakingStore& store, std::span<ListedTake> takes) {
  // Most lists are of plain ones alone, which need no names.
  const bool are_plain = std::ranges::all_of(takes, [](const ListedTake& each) { return is_plain(each.take); });
  Steps places;
  std::vector<Step> steps;
  for (ListedTake& each : takes) {
    if (!each.answer.has_value()) continue;
    const std::size_t place = are_plain ? 0 : places.place(each.take);
    if (place >= steps.size()) steps.resize(place + 1);
    (is_plain(each.take) ? steps[place].plain : steps[place].others).push_back(&each);
  }
  for (const Step& step : steps) carry_out(store, step);
}

}  // namespace mete::server
