#include "store/persistence.h"

#include "base/check.h"

namespace mete::store {

namespace {

thread_local Deferral* current_deferral = nullptr;

}  // namespace

Deferral::Deferral() {
  CHECK(current_deferral == nullptr);
  current_deferral = this;
}

Deferral::~Deferral() { current_deferral = nullptr; }

Deferral* Deferral::current() { return current_deferral; }

}  // namespace mete::store
