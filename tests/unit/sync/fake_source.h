// A source of truth for tests: rows that are given, and what happens while it is asked.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sync/source.h"

namespace mete::sync::testing {

class FakeSource final : public Source {
 public:
  using Cell = std::optional<std::string>;

  Result<bool> lock() override {
    on_lock();
    return locked;
  }
  Result<void> begin() override {
    on_begin();
    return begun;
  }
  Result<void> read(const SeeRow& see) override {
    on_read();
    for (const std::vector<Cell>& row : rows) {
      const std::vector<std::optional<std::string_view>> columns(row.begin(), row.end());
      if (!see(columns)) return {};
    }
    return ended;
  }
  Result<void> confirm_lock() override {
    on_confirm();
    return confirmed;
  }
  void cancel() override { is_cancelled = true; }

  std::vector<std::vector<Cell>> rows;
  Result<bool> locked = true;
  Result<void> begun;
  Result<void> ended;
  Result<void> confirmed;
  std::function<void()> on_lock = [] {};
  std::function<void()> on_begin = [] {};  // just before the snapshot
  std::function<void()> on_read = [] {};
  std::function<void()> on_confirm = [] {};
  std::atomic<bool> is_cancelled = false;
};

}  // namespace mete::sync::testing
