#include "server/running/places.h"

namespace mete::server {

Places::Given Places::give(const Stranger& newcomer, std::size_t usual_max) {
  const std::lock_guard lock(mutex_);
  Given given{Place::kUsual};
  if (give(usual_, newcomer, usual_max, given)) return given;
  given.place = Place::kReserved;
  if (give(reserved_, newcomer, kReserve, given)) return given;
  return {};
}

bool Places::give(Kind& kind, const Stranger& newcomer, std::size_t taken_max, Given& given) {
  if (kind.taken >= taken_max) {
    const auto first = kind.strangers.begin();
    if (first == kind.strangers.end()) return false;
    given.evicted = Stranger{first->first, first->second};
    kind.evicted.insert(first->first);
    kind.strangers.erase(first);
    --kind.taken;
  }
  ++kind.taken;
  kind.strangers.emplace(newcomer.id, newcomer.worker);
  return true;
}

void Places::note_known(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  for (Kind* const kind : {&usual_, &reserved_}) {
    kind->strangers.erase(id);
    kind->taken += kind->evicted.erase(id);  // It was quicker than its end, and stays.
  }
}

void Places::take_back(std::uint64_t id, Place place) {
  const std::lock_guard lock(mutex_);
  Kind& kind = place == Place::kReserved ? reserved_ : usual_;
  if (kind.evicted.erase(id) > 0) return;
  --kind.taken;
  kind.strangers.erase(id);
}

std::size_t Places::strangers() const {
  const std::lock_guard lock(mutex_);
  return usual_.strangers.size() + reserved_.strangers.size();
}

}  // namespace mete::server
