#include "escrow/others/releases.h"

#include <algorithm>

namespace mete::escrow {

namespace {

std::string name_of(const core::MeterName& meter) {
  return std::to_string(meter.limit.size()) + " " + std::string(meter.limit) + std::string(meter.key);
}

}  // namespace

std::uint64_t Releases::begin(const core::MeterName& meter) {
  if (others_ == nullptr) return 0;
  std::string name = name_of(meter);
  const Instant now = clock_.now();
  std::uint64_t round = 0;
  {
    const std::scoped_lock lock(state_->mutex);
    auto found = state_->entries.find(name);
    if (found == state_->entries.end()) {
      if (state_->entries.size() >= kMetersMax) state_->drop_old(now);
      if (state_->entries.size() >= kMetersMax) return 0;
      found = state_->entries.emplace(name, Entry()).first;
    }
    Entry& entry = found->second;
    if (entry.is_under_way) return entry.round;
    if (now < entry.quiet_until) return 0;
    entry.is_under_way = true;
    round = ++entry.round;
  }
  ShareQuestion question{.limit = std::string(meter.limit), .keys = {std::string(meter.key)}, .gives_back = true};
  const auto done = [state = state_, name = std::move(name), &clock = clock_](const std::vector<NodeShare>& shares) {
    state->end(name, shares[0].returned > 0, clock.now());
  };
  others_->ask(std::move(question), done);
  return round;
}

void Releases::State::end(const std::string& name, bool is_fruitful, Instant now) {
  const std::scoped_lock lock(mutex);
  Entry& entry = entries[name];
  entry.is_under_way = false;
  entry.was_fruitful = is_fruitful;
  entry.pause = is_fruitful ? Duration() : std::clamp(entry.pause * 2, kPauseMin, kPauseMax);
  entry.quiet_until = now + entry.pause;
  changed.notify_all();
}

void Releases::State::drop_old(Instant now) {
  std::erase_if(entries, [&](const auto& entry) {
    return !entry.second.is_under_way && now >= entry.second.quiet_until + kPauseMax;
  });
}

bool Releases::wait(const core::MeterName& meter, std::uint64_t round) {
  const std::string name = name_of(meter);
  std::unique_lock lock(state_->mutex);
  const auto find = [&]() -> const Entry* {
    const auto found = state_->entries.find(name);
    return found == state_->entries.end() || found->second.round < round ? nullptr : &found->second;
  };
  state_->changed.wait(lock, net::Deadline::in(Duration::never()), [&] {
    const Entry* const entry = find();
    return entry == nullptr || entry->round > round || !entry->is_under_way;
  });
  const Entry* const entry = find();
  return entry != nullptr && entry->was_fruitful;
}

}  // namespace mete::escrow
