#include "engine/held_parts.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/hash.h"

namespace mete::engine {

namespace {

using base::Uint128;

// What the allocator adds to a block, about.
constexpr std::size_t kBlockBytes = 16;
// The two trees must not have one shape.
constexpr std::uint64_t kExpirySeed = 0x6578706972790000;
constexpr std::uint64_t kChargeSeed = 0x6368617267650000;

std::uint32_t priority_of(const OpenPart& part, std::uint64_t seed) {
  return static_cast<std::uint32_t>(base::hash_number(part.serial, seed ^ part.charge));
}

// Whether sums that were made by one rule hold under the other.
bool counts_alike(const core::Rule& a, const core::Rule& b) {
  return a.kind == b.kind && a.period == b.period && (a.kind != Kind::kBucket || a.amount == b.amount);
}

bool has_remainders(Kind kind) { return kind == Kind::kBucket || kind == Kind::kSliding; }

Duration from(Instant now, Instant to) { return to > now ? to - now : Duration(); }

}  // namespace

// A part's place among the others by when it was charged. A bucket's part has x ticks left of it at time 0, if these
// may be more than were charged; at time t it has x - t · amount, as long as that is above zero. With x = whole ·
// period + rank, and t · amount cut likewise, what is left of it in whole units, rounded up, is the difference of the
// whole parts, and one more if its rank is the higher one. A sliding meter's part has the instant of its charge as its
// rank.
struct HeldParts::Remainder : SumTreeLinks<Remainder> {
  std::uint32_t count = 0;
  Node* part = nullptr;
  std::uint64_t rank = 0;
  std::uint64_t whole = 0;   // modulo 2^64, as the sums are: their differences fit
  Instant refilled_at;       // from when on nothing is left of it
  std::uint64_t wholes = 0;  // of it and all below it, as the next
  Instant first_refilled_at;
};

struct HeldParts::Sums {
  const HeldParts& parts;

  [[nodiscard]] bool is_before(const Node& a, const Node& b) const {
    return static_cast<const OpenPart&>(a) < static_cast<const OpenPart&>(b);
  }
  void sum(Node& node) const {
    const Uint128 below = parts.credit_below(node.left) + parts.credit_below(node.right);
    node.credit = parts.own_credit(node) + below;
    node.era = parts.era_;
  }
};

struct HeldParts::RemainderSums {
  [[nodiscard]] bool is_before(const Remainder& a, const Remainder& b) const {
    return std::tie(a.rank, a.part->serial, a.part->charge) < std::tie(b.rank, b.part->serial, b.part->charge);
  }
  void sum(Remainder& node) const {
    node.wholes = node.whole;
    node.count = 1;
    node.first_refilled_at = node.refilled_at;
    for (const Remainder* child : {node.left, node.right}) {
      if (child == nullptr) continue;
      node.wholes += child->wholes;
      node.count += child->count;
      node.first_refilled_at = std::min(node.first_refilled_at, child->first_refilled_at);
    }
  }
};

HeldParts::~HeldParts() { free_below(by_expiry_.root()); }

void HeldParts::free_below(Node* node) {
  if (node == nullptr) return;
  free_below(node->left);
  free_below(node->right);
  if (node->remainder != nullptr) memory_.subtract(sizeof(Remainder) + kBlockBytes);
  delete node->remainder;
  memory_.subtract(sizeof(Node) + kBlockBytes + node->id.size());
  node->~Node();
  ::operator delete(node);
}

HeldParts::Node* HeldParts::find_node(const OpenPart& key) const {
  Node* node = by_expiry_.root();
  while (node != nullptr) {
    const auto& part = static_cast<const OpenPart&>(*node);
    if (key < part) {
      node = node->left;
    } else if (part < key) {
      node = node->right;
    } else {
      break;
    }
  }
  return node;
}

const OpenPart* HeldParts::find(const OpenPart& key) const { return find_node(key); }

const OpenPart& HeldParts::insert(const OpenPart& part, const core::Rule& rule, const core::State& state) {
  CHECK(find_node(part) == nullptr);
  if (part.expires_at <= over_until_) erase_over(size_);  // Then it is not taken for one of them.
  follow(rule, state);
  void* const block = ::operator new(sizeof(Node) + part.id.size());
  Node* const node = new (block) Node{};
  static_cast<OpenPart&>(*node) = part;
  char* const id = static_cast<char*>(block) + sizeof(Node);
  std::copy(part.id.begin(), part.id.end(), id);
  node->id = {id, part.id.size()};
  node->priority = priority_of(part, kExpirySeed);
  memory_.add(sizeof(Node) + kBlockBytes + part.id.size());
  latest_made_at_ = std::max(latest_made_at_, part.made_at);
  by_expiry_.insert(*node, {*this});
  if (first_ == nullptr || part < *first_) first_ = node;
  ++size_;
  count_remainder(*node);
  return *node;
}

bool HeldParts::erase(const OpenPart& key) {
  Node* const node = find_node(key);
  if (node == nullptr) return false;
  by_expiry_.erase(*node, {*this});
  if (node == first_) first_ = by_expiry_.first();
  --size_;
  forget_remainder(*node);
  node->left = node->right = nullptr;
  free_below(node);
  return true;
}

bool HeldParts::can_end_together(Kind kind) { return !has_remainders(kind); }

void HeldParts::end_together(const core::Rule& rule, core::State& state, const core::Moment& moment, Instant until) {
  CHECK(can_end_together(rule.kind));
  core::settle(rule, state, moment);
  follow(rule, state);
  const Uint128 credit = credit_by(until) - credit_by(over_until_);
  // All of them as one part, that was made in the meter's window as they were.
  core::release(rule, state, {base::saturate(credit, kAmountMax), window_start_, until}, moment);
  over_until_ = std::max(over_until_, until);
}

void HeldParts::erase_over(std::size_t count_max) {
  for (; count_max > 0 && has_over(); --count_max) erase(*first_);
  if (!has_over()) over_until_ = Instant();
}

bool HeldParts::has_due(Instant until) const {
  if (!has_over()) return first_ != nullptr && first_->expires_at <= until;
  const Iterator first_left = begin();
  return first_left != end() && first_left->expires_at <= until;
}

Uint128 HeldParts::credit_by(Instant until) const {
  Uint128 credit = 0;
  for (const Node* node = by_expiry_.root(); node != nullptr;) {
    if (node->expires_at <= until) {
      credit += credit_below(node->left) + own_credit(*node);
      node = node->right;
    } else {
      node = node->left;
    }
  }
  return credit;
}

// Makes the sums those of this rule and of the state's window.
void HeldParts::follow(const core::Rule& rule, const core::State& state) {
  const Instant window_start = core::has_window(rule.kind) ? state.window.start : Instant();
  const bool is_alike = counts_alike(rule_, rule);
  rule_ = rule;
  if (!is_alike) {
    erase_over(size_);
    window_start_ = window_start;
    recount();
  } else if (window_start > window_start_) {
    window_start_ = window_start;
    // Only a journal's records may have parts of a window before the window's state.
    if (latest_made_at_ < window_start) {
      ++era_;
    } else {
      recount();
    }
  }
}

void HeldParts::recount() {
  for (Iterator part = begin(); part != end(); ++part) {
    Node& node = *find_node(*part);
    forget_remainder(node);
    count_remainder(node);
  }
  by_expiry_.sum_all({*this});
}

void HeldParts::remake(const core::Rebase& from, const core::State& state, const core::Rebase& to) {
  erase_over(size_);
  std::vector<Node*> nodes;
  nodes.reserve(size_);
  for (Iterator part = begin(); part != end(); ++part) nodes.push_back(find_node(*part));
  for (Node* const node : nodes) {
    forget_remainder(*node);
    static_cast<core::HeldPart&>(*node) = core::remake(from.rule, state, *node, from.moment);
  }
  rule_ = to.rule;
  window_start_ = core::has_window(to.rule.kind) ? to.moment.window.start : Instant();
  latest_made_at_ = from.moment.now;
  recount();
}

Uint128 HeldParts::own_credit(const Node& node) const {
  switch (rule_.kind) {
    case Kind::kBucket:
      return core::bucket::part_ticks(rule_, node, node.expires_at);
    case Kind::kWindow:
    case Kind::kCalendar:
      return node.made_at >= window_start_ ? base::to_unsigned(node.units) : 0;
    case Kind::kSliding:
      return core::sliding::owns(rule_, node, node.expires_at) ? base::to_unsigned(node.units) : 0;
    case Kind::kStock:
      return base::to_unsigned(node.units);
  }
  __builtin_unreachable();
}

void HeldParts::count_remainder(Node& node) {
  if (!has_remainders(rule_.kind)) return;
  auto remainder = std::make_unique<Remainder>();
  remainder->part = &node;
  remainder->priority = priority_of(node, kChargeSeed);
  remainder->rank = node.made_at.ns();
  remainder->whole = base::to_unsigned(node.units);
  remainder->refilled_at = Instant::max();
  if (rule_.kind == Kind::kBucket) {
    const Uint128 made_at_ticks = core::bucket::now_ticks(rule_, node.made_at);
    remainder->rank = static_cast<std::uint64_t>(made_at_ticks % rule_.period_ns());
    remainder->whole += static_cast<std::uint64_t>(made_at_ticks / rule_.period_ns());
    remainder->refilled_at =
        node.made_at + core::bucket::drain_time(rule_, core::bucket::unit_ticks(rule_, node.units));
  }
  node.remainder = remainder.release();
  by_charge_.insert(*node.remainder, {});
  memory_.add(sizeof(Remainder) + kBlockBytes);
}

void HeldParts::forget_remainder(Node& node) {
  const std::unique_ptr<Remainder> remainder(node.remainder);
  if (remainder == nullptr) return;
  by_charge_.erase(*remainder, {});
  node.remainder = nullptr;
  memory_.subtract(sizeof(Remainder) + kBlockBytes);
}

void HeldParts::forget_refilled(Instant now) {
  while (by_charge_.root() != nullptr && by_charge_.root()->first_refilled_at <= now) {
    const Remainder* found = by_charge_.root();
    while (found->refilled_at > now) {
      const bool is_left = found->left != nullptr && found->left->first_refilled_at <= now;
      found = is_left ? found->left : found->right;
    }
    forget_remainder(*found->part);
  }
}

Amount HeldParts::held(const core::Rule& rule, const core::State& state, const core::Moment& moment) {
  follow(rule, state);
  switch (rule.kind) {
    case Kind::kBucket:
      return held_of_bucket(moment.now);
    case Kind::kSliding:
      return held_of_sliding(moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
    case Kind::kStock:
      return base::saturate(credit_below(by_expiry_.root()) - (has_over() ? credit_by(over_until_) : 0), kAmountMax);
  }
  __builtin_unreachable();
}

Amount HeldParts::held_of_bucket(Instant now) {
  latest_asked_ = std::max({latest_asked_, latest_made_at_, now});
  forget_refilled(latest_asked_);
  const Remainder* node = by_charge_.root();
  if (node == nullptr) return 0;
  const Uint128 ticks = core::bucket::now_ticks(rule_, latest_asked_);
  const auto rank = static_cast<std::uint64_t>(ticks % rule_.period_ns());
  const auto whole = static_cast<std::uint64_t>(ticks / rule_.period_ns());
  std::uint64_t units = node->wholes - whole * node->count;
  while (node != nullptr) {
    if (node->rank > rank) {
      units += 1 + (node->right != nullptr ? node->right->count : 0);
      node = node->left;
    } else {
      node = node->right;
    }
  }
  return base::saturate(units, kAmountMax);
}

// The later a part was made, the longer it counts.
Amount HeldParts::held_of_sliding(Instant now) const {
  Uint128 units = 0;
  for (const Remainder* node = by_charge_.root(); node != nullptr;) {
    if (core::sliding::owns(rule_, *node->part, now)) {
      units += node->whole;
      if (node->right != nullptr) units += node->right->wholes;
      node = node->left;
    } else {
      node = node->right;
    }
  }
  return base::saturate(units, kAmountMax);
}

template <class IsEnough>
HeldParts::Found HeldParts::find_first(IsEnough is_enough) const {
  Found found;
  // All that is over stands before the first part that is not: there the sum is zero.
  if (has_over()) found.credit_before = 0 - credit_by(over_until_);
  for (const Node* node = by_expiry_.root(); node != nullptr;) {
    const Uint128 credit = found.credit_before + credit_below(node->left);
    if (node->expires_at > over_until_ && is_enough(credit, *node)) {
      found.part = node;
      node = node->left;
    } else {
      found.before = node;
      found.credit_before = credit + own_credit(*node);
      node = node->right;
    }
  }
  return found;
}

Duration HeldParts::wait_for(const core::Rule& rule, const core::State& state, Amount cost,
                             const core::Moment& moment) {
  const Duration without_parts = core::wait_for(rule, state, cost, moment);
  if (cost > rule.capacity || without_parts == Duration()) return without_parts;
  follow(rule, state);
  switch (rule.kind) {
    case Kind::kBucket:
      return wait_for_bucket(state, cost, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
    case Kind::kStock: {
      // Or the next window begins before.
      const Node* const part = find_by_credit(state, cost, moment);
      return part == nullptr ? without_parts : std::min(without_parts, from(moment.now, part->expires_at));
    }
    case Kind::kSliding: {
      // Before the oldest charge passes, parts that expire do nothing but make room.
      const Amount until_one_passes = rule.capacity - state.sliding.used() + 1;
      const Duration passing = core::sliding::wait_for(rule, state.sliding, until_one_passes, moment);
      const Node* const part = find_by_credit(state, cost, moment);
      if (part != nullptr && part->expires_at < moment.now + passing) return from(moment.now, part->expires_at);
      return core::wait_for(rule, state, cost, moment, *this, kLookAheadMax);
    }
  }
  __builtin_unreachable();
}

// The part by whose expiry, with all before it, so much has come back that the cost fits.
const HeldParts::Node* HeldParts::find_by_credit(const core::State& state, Amount cost,
                                                 const core::Moment& moment) const {
  const auto wanted = base::to_unsigned(core::used(rule_, state, moment) + cost - rule_.capacity);
  const auto is_enough = [&](Uint128 before, const Node& node) { return before + own_credit(node) >= wanted; };
  return find_first(is_enough).part;
}

// Between two expiries the bucket refills: the cost fits before the first part whose expiry is not earlier than what is
// wanted beyond the credit of those before it has been refilled. Until then no credit is lost to a bucket that is full.
Duration HeldParts::wait_for_bucket(const core::State& state, Amount cost, Instant now) const {
  const Uint128 wanted = core::bucket::backlog(rule_, state.bucket, now) + core::bucket::unit_ticks(rule_, cost) -
                         core::bucket::unit_ticks(rule_, rule_.capacity);
  const auto refilled_by = [&](Instant at) {
    return base::multiply(base::to_unsigned(from(now, at).ns()), base::to_unsigned(rule_.amount));
  };
  const Found found =
      find_first([&](Uint128 before, const Node& node) { return wanted <= before + refilled_by(node.expires_at); });
  const Duration after_last = found.before == nullptr ? Duration() : from(now, found.before->expires_at);
  if (found.credit_before >= wanted) return after_last;
  return std::max(after_last, core::bucket::drain_time(rule_, wanted - found.credit_before));
}

}  // namespace mete::engine
