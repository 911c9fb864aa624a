// HeldParts: the open parts of one meter in the order of their expiry, and how much is held of it, kept and not summed:
// a meter with a million holds costs about as much to look at as one with a few.
//
//     by expiry   each node has the sum of what the parts below it credit when they expire: from it comes how long a
//                 denied take has to wait
//     by charge   bucket and sliding only, where parts come back one by one while they are held: from it comes how much
//                 is still charged
//
// What a part credits depends on the kind:
//
//     stock              its units, always
//     window, calendar   its units, if it was made in the meter's window. When the next one begins, all sums of the
//     last
//                        one are void at once: each says which window it is of (`era`)
//     bucket             what will not have been refilled by then
//     sliding            its units, if it expires within a period of its charge. That tells what room there is until
//                        the oldest charge passes; from then on it is the slots that say what comes back: see
//                        wait_for()
//
// The sums are those under one rule. Under another one they are made anew, which takes as long as there are parts.
//
// A bucket's remainders are counted as of the latest time that was asked for.
//
// Where nothing but the sum of their units matters, any number of parts can end together: from then on they are over,
// nobody meets them, and what they credited has been credited. They are erased a few at a time.
//
// Ownership: owns its parts and the bytes of their ids; the memory gauge must outlive it.
// Thread safety: none; an engine's are guarded by the lock of their entry's bucket.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <iterator>

#include "core/meter.h"
#include "engine/hold_record.h"
#include "engine/table/memory_gauge.h"
#include "engine/table/sum_tree.h"

namespace mete::engine {

class HeldParts {
  struct Remainder;

  // The bytes of its id follow it.
  struct Node : OpenPart, SumTreeLinks<Node> {
    std::uint32_t era = 0;           // of the sum
    Remainder* remainder = nullptr;  // owned; null where none is counted
    base::Uint128 credit = 0;        // of it and all below it: units, or a bucket's ticks
  };

 public:
  // Forward, in the order of expiry. Any change of the parts ends it.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = OpenPart;
    using difference_type = std::ptrdiff_t;
    using pointer = const OpenPart*;
    using reference = const OpenPart&;

    Iterator() = default;
    // From the first part that expires later.
    Iterator(const Node* tree, Instant over_until) {
      while (tree != nullptr && tree->expires_at <= over_until) tree = tree->right;
      for (; tree != nullptr; tree = tree->left) {
        while (tree != nullptr && tree->expires_at <= over_until) tree = tree->right;
        if (tree == nullptr) break;
        way_.push_back(tree);
      }
    }
    reference operator*() const { return *way_.back(); }
    pointer operator->() const { return way_.back(); }
    Iterator& operator++() {
      const Node* const node = way_.back();
      way_.pop_back();
      descend(node->right);
      return *this;
    }
    // Only with the end.
    bool operator==(const Iterator& other) const { return way_.empty() == other.way_.empty(); }

   private:
    void descend(const Node* node) {
      for (; node != nullptr; node = node->left) way_.push_back(node);
    }

    boost::container::small_vector<const Node*, 32> way_;  // from the top, those that are yet to come
  };

  explicit HeldParts(MemoryGauge& memory) : memory_(memory) {}
  HeldParts(const HeldParts&) = delete;
  HeldParts& operator=(const HeldParts&) = delete;
  ~HeldParts();

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  // Those that are over count as long as they are there.
  [[nodiscard]] std::size_t size() const { return size_; }
  // The first to expire. There must be one.
  [[nodiscard]] const OpenPart& first() const { return *first_; }
  // Null if there is none with the key's expiry, serial number and charge.
  [[nodiscard]] const OpenPart* find(const OpenPart& key) const;
  [[nodiscard]] Iterator begin() const { return {by_expiry_.root(), over_until_}; }
  [[nodiscard]] Iterator end() const { return {}; }

  // Of a meter under that rule and in that state. There must be no such part yet.
  const OpenPart& insert(const OpenPart& part, const core::Rule& rule, const core::State& state);
  // False if there is no such part.
  bool erase(const OpenPart& key);

  // Whether parts of this kind can end together.
  [[nodiscard]] static bool can_end_together(Kind kind);
  // Ends all parts that expire by then, at one moment of the meter: the state gets what they credit.
  void end_together(const core::Rule& rule, core::State& state, const core::Moment& moment, Instant until);
  [[nodiscard]] bool has_over() const { return first_ != nullptr && first_->expires_at <= over_until_; }
  // Erases so many of those that are over.
  void erase_over(std::size_t count_max);
  // Whether there is one, not over yet, that expires by then.
  [[nodiscard]] bool has_due(Instant until) const;

  // How much of a meter is held and still charged, in whole units, each part rounded up; at most `kAmountMax`.
  [[nodiscard]] Amount held(const core::Rule& rule, const core::State& state, const core::Moment& moment);
  // Whether held() tells how it is then, and not how it was later.
  [[nodiscard]] bool counts_as_of(Instant now) const { return rule_.kind != Kind::kBucket || latest_asked_ <= now; }
  // As core::wait_for() with these parts. Of a sliding meter whose oldest charge passes before the cost fits it looks
  // at the next kLookAheadMax to expire; where that is not enough, the wait is as if the others stayed.
  [[nodiscard]] Duration wait_for(const core::Rule& rule, const core::State& state, Amount cost,
                                  const core::Moment& moment);
  static constexpr std::size_t kLookAheadMax = 256;

  // Each as if it were made at the moment of the rebase: see core::remake().
  void remake(const core::Rebase& from, const core::State& state, const core::Rebase& to);
  // Sums everything anew.
  void recount();

 private:
  struct Sums;
  struct RemainderSums;

  void follow(const core::Rule& rule, const core::State& state);
  [[nodiscard]] base::Uint128 own_credit(const Node& node) const;
  [[nodiscard]] base::Uint128 credit_below(const Node* node) const {
    return node != nullptr && node->era == era_ ? node->credit : 0;
  }
  // Of all parts that expire by then.
  [[nodiscard]] base::Uint128 credit_by(Instant until) const;
  [[nodiscard]] Node* find_node(const OpenPart& key) const;
  void count_remainder(Node& node);
  void forget_remainder(Node& node);
  void forget_refilled(Instant now);
  void free_below(Node* node);
  [[nodiscard]] Amount held_of_bucket(Instant now);
  [[nodiscard]] Amount held_of_sliding(Instant now) const;
  [[nodiscard]] const Node* find_by_credit(const core::State& state, Amount cost, const core::Moment& moment) const;
  [[nodiscard]] Duration wait_for_bucket(const core::State& state, Amount cost, Instant now) const;

  // The first part by which, with all before it, `is_enough(credit of those before it, part)`; null if there is none.
  struct Found {
    const Node* part = nullptr;
    const Node* before = nullptr;
    base::Uint128 credit_before = 0;
  };
  template <class IsEnough>
  [[nodiscard]] Found find_first(IsEnough is_enough) const;

  MemoryGauge& memory_;
  SumTree<Node, Sums> by_expiry_;
  SumTree<Remainder, RemainderSums> by_charge_;
  Node* first_ = nullptr;
  std::size_t size_ = 0;
  core::Rule rule_;  // what the sums are made by
  Instant window_start_;
  Instant latest_made_at_;
  Instant latest_asked_;
  Instant over_until_;  // the epoch: none is over
  std::uint32_t era_ = 0;
};

}  // namespace mete::engine
