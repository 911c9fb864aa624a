// Acknowledger: keeps an answer back until what it rests on is on disk. Without a directory it only passes on.
//
// Ownership: borrows the DataDirectory. Thread safety: every call from any thread.
#pragma once

#include "store/embedded/data_directory.h"
#include "store/persistence.h"

namespace mete::store {

class Acknowledger {
 public:
  explicit Acknowledger(DataDirectory* data) : data_(data) {}  // null: memory only

  // For takes: what must be on disk depends on their limits, and so does what happens when nothing can be written.
  template <class Act>
  auto take(Act act) const -> decltype(act()) {
    if (data_ == nullptr) return act();
    if (Deferral::current() != nullptr) {
      auto answer = act();
      data_->wait_for_room();
      return answer;
    }
    Deferral deferral;
    auto answer = act();
    data_->wait_for_room();
    if (auto safe = data_->wait(deferral.ticket()); !safe) return tl::make_unexpected(safe.error());
    return answer;
  }

  // For other changes: none after the journal has failed.
  template <class Act>
  auto change(Act act) const -> decltype(act()) {
    if (data_ != nullptr && data_->has_failed()) return tl::make_unexpected(*data_->failure());
    return take(std::move(act));
  }

  // For changes that are always durable. Even one that changed nothing may tell of another that did ("it is committed
  // already"), so every answer waits for what came before it.
  template <class Act>
  auto settle(Act act) const -> decltype(act()) {
    if (data_ == nullptr) return act();
    return change([&] {
      auto answer = act();
      data_->depend();
      return answer;
    });
  }

 private:
  DataDirectory* data_;
};

}  // namespace mete::store
