// raise: an atomic number that only grows.
#pragma once

#include <atomic>

namespace mete::base {

// Makes `value` at least `to`. Orders nothing else.
template <class Number>
void raise(std::atomic<Number>& value, Number to) {
  Number so_far = value.load(std::memory_order_relaxed);
  while (so_far < to && !value.compare_exchange_weak(so_far, to, std::memory_order_relaxed)) {
  }
}

}  // namespace mete::base
