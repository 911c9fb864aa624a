// ChangeLines: the changes of records for people and programs, each as its kind and named values.
//
//     meter  limit=api key=alice full_at=2026-11-15T11:03:04.123Z
//
// It is given all records in their order, since a meter's bytes mean something only with its limit.
// Thread safety: one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/records/change.h"
#include "wire/named_value.h"

namespace mete::cli {

struct ChangeLine {
  std::string_view kind;
  wire::NamedValues fields;
};

class ChangeLines final : public engine::ChangeVisitor {
 public:
  explicit ChangeLines(std::function<void(const ChangeLine&)> on_line) : on_line_(std::move(on_line)) {}

  Result<void> visit(engine::MeterChange& change) override;
  Result<void> visit(engine::OperationChange& change) override;
  Result<void> visit(engine::OverrideChange& change) override;
  Result<void> visit(engine::KeyChange& change) override;
  Result<void> visit(engine::LimitChange& change) override;
  Result<void> visit(engine::DropChange& change) override;
  Result<void> visit(engine::ClearChange& change) override;
  Result<void> visit(engine::NumbersChange& change) override;

 private:
  struct KnownLimit {
    Limit limit;
    bool is_even = true;
    std::map<std::string, Amount, std::less<>> overrides = {};  // by key
  };

  [[nodiscard]] std::string name_of(std::uint64_t generation) const;
  void add_state(const engine::MeterChange& change, wire::NamedValues& fields) const;

  const std::function<void(const ChangeLine&)> on_line_;
  std::unordered_map<std::uint64_t, KnownLimit> limits_;  // by generation
};

}  // namespace mete::cli
