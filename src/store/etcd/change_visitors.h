// Visitors of changes that want only some of them. Internal to reading images.
#pragma once

#include <functional>
#include <utility>

#include "engine/change.h"

namespace mete::store::etcd {

class QuietVisitor : public engine::ChangeVisitor {
 public:
  Result<void> visit(engine::MeterChange& /*change*/) override { return {}; }
  Result<void> visit(engine::OperationChange& /*change*/) override { return {}; }
  Result<void> visit(engine::OverrideChange& /*change*/) override { return {}; }
  Result<void> visit(engine::KeyChange& /*change*/) override { return {}; }
  Result<void> visit(engine::LimitChange& /*change*/) override { return {}; }
  Result<void> visit(engine::DropChange& /*change*/) override { return {}; }
  Result<void> visit(engine::ClearChange& /*change*/) override { return {}; }
  Result<void> visit(engine::NumbersChange& /*change*/) override { return {}; }
};

// Calls use() with each change of one kind.
template <class Change>
class OneKindVisitor final : public QuietVisitor {
 public:
  explicit OneKindVisitor(std::function<void(Change&)> use) : use_(std::move(use)) {}
  using QuietVisitor::visit;
  Result<void> visit(Change& change) override {
    use_(change);
    return {};
  }

 private:
  std::function<void(Change&)> use_;
};

template <class Change>
Result<void> visit_each(std::string_view changes, std::function<void(Change&)> use) {
  OneKindVisitor<Change> visitor(std::move(use));
  return engine::read_changes(changes, visitor);
}

}  // namespace mete::store::etcd
