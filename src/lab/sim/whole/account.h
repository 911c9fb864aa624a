// Account: what clients were told of one limit, and how that is judged. An operation takes time, and may be decided at
// any moment of it: only those that lie within one window for certain are counted there. Thread safety: one thread.
#pragma once

#include <mete/limit.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mete::sim {

class Account {
 public:
  // An operation of a client: when it was asked first, and told last.
  struct Span {
    Instant asked;
    Instant told;
  };

  explicit Account(Limit limit) : limit_(std::move(limit)) {}

  // The most that the limit was, for as long as it is the same.
  void raise_to(const Limit& limit);
  void admitted(const Span& span, Amount units) { entries_.push_back({span, units}); }
  void given_back(const Span& span, Amount units) { entries_.push_back({span, -units}); }
  // Nobody was told whether it has happened.
  void maybe_admitted(Amount units) { maybe_admitted_ += units; }
  void maybe_given_back(Amount units) { maybe_given_back_ += units; }

  // What is wrong with it: more was admitted than the limit has.
  [[nodiscard]] std::optional<std::string> excess() const;
  // What is wrong with the books, if `charged` is what is used or held of it, all nodes having given back what they
  // had. For limits that have had one window so far.
  [[nodiscard]] std::optional<std::string> discrepancy(Amount charged) const;

 private:
  struct Entry {
    Span span;
    Amount units = 0;
  };

  [[nodiscard]] std::vector<Entry> in_order() const;
  [[nodiscard]] std::optional<std::string> excess_of_stock() const;
  [[nodiscard]] std::optional<std::string> excess_of_windows() const;
  [[nodiscard]] std::optional<std::string> excess_of_bucket() const;
  [[nodiscard]] std::string over(Amount admitted, Amount available) const;

  Limit limit_;
  std::vector<Entry> entries_;
  Amount maybe_admitted_ = 0;
  Amount maybe_given_back_ = 0;
};

}  // namespace mete::sim
