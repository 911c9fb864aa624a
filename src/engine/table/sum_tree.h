// SumTree: an ordered tree whose nodes each know a sum over everything below them, so that the sum over all that stand
// before a node, or behind it, costs one way down. A treap: a node stands above those of a lower priority, which is
// random, so that a tree of n nodes is some 2 ln n deep, whatever order they come in.
//
// `Sums` says how nodes are ordered and summed:
//
//     bool is_before(const Node& a, const Node& b) const;
//     void sum(Node& node) const;      sets the node's sum from its own worth and from its children's sums
//
// Ownership: none. Thread safety: none.
#pragma once

#include <cstdint>

namespace mete::engine {

template <class Node>
struct SumTreeLinks {
  Node* left = nullptr;
  Node* right = nullptr;
  std::uint32_t priority = 0;
};

template <class Node, class Sums>
class SumTree {
 public:
  [[nodiscard]] Node* root() const { return root_; }

  void insert(Node& node, const Sums& sums) { insert_below(root_, node, sums); }
  void erase(const Node& node, const Sums& sums) { erase_below(root_, node, sums); }
  // Sums everything anew: each node is worth something else.
  void sum_all(const Sums& sums) { sum_below(root_, sums); }

  [[nodiscard]] Node* first() const {
    Node* node = root_;
    while (node != nullptr && node->left != nullptr) node = node->left;
    return node;
  }

 private:
  static void insert_below(Node*& place, Node& node, const Sums& sums) {
    if (place == nullptr || place->priority < node.priority) {
      split(place, node, node.left, node.right, sums);
      place = &node;
    } else {
      insert_below(sums.is_before(node, *place) ? place->left : place->right, node, sums);
    }
    sums.sum(*place);
  }

  static void split(Node* tree, const Node& at, Node*& before, Node*& behind, const Sums& sums) {
    if (tree == nullptr) {
      before = behind = nullptr;
      return;
    }
    if (sums.is_before(*tree, at)) {
      before = tree;
      split(tree->right, at, tree->right, behind, sums);
    } else {
      behind = tree;
      split(tree->left, at, before, tree->left, sums);
    }
    sums.sum(*tree);
  }

  static void erase_below(Node*& place, const Node& node, const Sums& sums) {
    if (place == &node) {
      place = merge(node.left, node.right, sums);
    } else {
      erase_below(sums.is_before(node, *place) ? place->left : place->right, node, sums);
      sums.sum(*place);
    }
  }

  static Node* merge(Node* before, Node* behind, const Sums& sums) {
    if (before == nullptr) return behind;
    if (behind == nullptr) return before;
    Node* const above = before->priority >= behind->priority ? before : behind;
    if (above == before) {
      before->right = merge(before->right, behind, sums);
    } else {
      behind->left = merge(before, behind->left, sums);
    }
    sums.sum(*above);
    return above;
  }

  static void sum_below(Node* tree, const Sums& sums) {
    if (tree == nullptr) return;
    sum_below(tree->left, sums);
    sum_below(tree->right, sums);
    sums.sum(*tree);
  }

  Node* root_ = nullptr;
};

}  // namespace mete::engine
