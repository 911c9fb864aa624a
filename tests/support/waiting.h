// Waiting for what other processes do, in real time: asked again every millisecond, up to a bound that is generous.
#pragma once

#include <mete/time.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace mete::support {

// True once it is so; false if the time is over first.
template <class Question>
bool becomes_true(Duration at_most, const Question& question) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(at_most.ns());
  while (!question()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Ends the test that the trouble is met in.
[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }

}  // namespace mete::support
