#include "model/model_sliding.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mete::model {

namespace {

constexpr std::size_t kLogged = 5;  // exact charges, with the newest
constexpr Wide kLoggedPeriodMax = Wide{800} * 24 * 3600 * 1'000'000'000;

Wide round_up(Wide value, Wide step) { return (value + step - 1) / step * step; }

}  // namespace

void ModelSliding::set_terms(Wide amount, Wide period) {
  amount_ = amount;
  period_ = period;
  width_ = round_up(period, 125'000) / 125;
  quanta_ = amount <= 100 ? 99 : 1889;
  quantum_ = amount <= 100 ? 1 : round_up(amount, 1889) / 1889;
}

Wide ModelSliding::usage() const {
  Wide sum = 0;
  for (const Entry& entry : entries_) sum += entry.units;
  return sum;
}

Wide ModelSliding::empty_at() const {
  Wide at = 0;
  for (const Entry& entry : entries_) {
    if (entry.units > 0) at = until(entry.at);
  }
  return at;
}

void ModelSliding::pass_to(Wide now) {
  const auto is_gone = [&](const Entry& entry) {
    const bool is_empty = entry.units == 0 && &entry != &entries_.back();
    return is_empty || until(entry.at) <= now;
  };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_gone), entries_.end());
  if (usage() == 0) {
    entries_.clear();
    has_slots_ = false;
  }
}

void ModelSliding::charge(Wide units, Wide now) {
  if (units == 0) return;
  add(units, now);
}

void ModelSliding::add(Wide units, Wide at) {
  if (entries_.empty()) {
    if (period_ > kLoggedPeriodMax) has_slots_ = true;
    entries_.push_back({place_of(at), units});
    return;
  }
  const auto is_left = [&] { return place_of(at) > entries_.back().at; };
  if (!has_slots_ && is_left() && entries_.back().units > 0 &&
      (entries_.size() == kLogged || entries_.back().units > amount_)) {
    has_slots_ = true;
    replay();
  }
  if (is_left()) {
    Entry& left = entries_.back();
    Wide rest = 0;
    if (has_slots_) {
      const Wide room = (quanta_ * quantum_ - (usage() - left.units)) / quantum_;
      const Wide kept = std::min(left.units / quantum_, room) * quantum_;
      rest = std::exchange(left.units, kept) - kept;
    }
    if (left.units == 0) entries_.pop_back();
    entries_.push_back({place_of(at), rest});
  }
  entries_.back().units += units;
}

void ModelSliding::replay() {
  const std::vector<Entry> charges = std::exchange(entries_, {});
  for (const Entry& charge : charges) {
    if (charge.units > 0 || !entries_.empty()) add(charge.units, charge.at);
  }
}

void ModelSliding::take(Wide units, Wide from) {
  for (Entry& entry : entries_) {
    if (entry.at < from) continue;
    const Wide taken = std::min(units, entry.units);
    entry.units -= taken;
    units -= taken;
  }
}

void ModelSliding::give(Wide units) {
  take(units, 0);
  pass_to(0);
  while (has_slots_ && even_two()) pass_to(0);
}

void ModelSliding::release(Wide units, Wide made_at) {
  const Wide used = usage();
  take(units, place_of(made_at));
  give(units - (used - usage()));
}

// Of the places between the oldest and the newest, those that have part of a quantum. If there are three, the older of
// two that follow each other gives units to the younger: as few as make one of them whole, and of the two pairs the one
// for which these, by the time between the two, are the least.
bool ModelSliding::even_two() {
  std::vector<Entry*> parts;
  for (std::size_t i = 1; i + 1 < entries_.size(); ++i) {
    if (entries_[i].units % quantum_ != 0) parts.push_back(&entries_[i]);
  }
  if (parts.size() < 3) return false;
  Wide least = -1;
  Wide units = 0;
  std::size_t older = 0;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const Wide moved = std::min(parts[i]->units % quantum_, quantum_ - parts[i + 1]->units % quantum_);
    const Wide effect = moved * (parts[i + 1]->at - parts[i]->at);
    if (least >= 0 && effect >= least) continue;
    least = effect;
    units = moved;
    older = i;
  }
  parts[older]->units -= units;
  parts[older + 1]->units += units;
  return true;
}

}  // namespace mete::model
