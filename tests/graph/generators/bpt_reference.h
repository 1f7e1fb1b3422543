#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace bough::test {

/// The graph of BP-Transformer by its definition: nodes are (level, index) pairs, every step one node, nothing clever.
/// Edges are sorted by destination, then source.
class SlowPartition {
 public:
  struct Edge {
    std::int32_t src;
    std::int32_t dst;
    std::int32_t relation;
    auto operator<=>(const Edge&) const = default;
  };

  SlowPartition(int length, int k, bool slot_rule, bool causal, int clip = 1000)
      : k_(k), slot_(slot_rule), clip_(clip) {
    sizes_.push_back(length);
    while (sizes_.back() > 1) sizes_.push_back((sizes_.back() + 1) / 2);
    firsts_.push_back(0);
    for (const int size : sizes_) firsts_.push_back(firsts_.back() + size);
    for (int token = 0; token < length; ++token) {
      const std::size_t row = edges_.size();
      add(0, token, token, relation(0, 0));
      walk_left(token);
      if (!causal) walk_right(token);
      std::sort(edges_.begin() + static_cast<std::ptrdiff_t>(row), edges_.end());
    }
    for (int level = 1; level < levels(); ++level) {
      for (int span = 0; span < size(level); ++span) {
        for (int token = span << level; token < length && token >> level == span; ++token) {
          edges_.push_back({token, id(level, span), relation(level, 0)});
        }
      }
    }
  }

  const std::vector<Edge>& edges() const { return edges_; }
  int levels() const { return static_cast<int>(sizes_.size()); }
  int num_nodes() const { return id(levels() - 1, 0) + 1; }

 private:
  int id(int level, int index) const { return firsts_[static_cast<std::size_t>(level)] + index; }
  int size(int level) const { return level < levels() ? sizes_[static_cast<std::size_t>(level)] : 0; }
  int relation(int level, int which) const {
    const int places = slot_ ? k_ : k_ + 1;
    return (2 * places + 1) * std::min(level, clip_) + which;
  }
  void add(int level, int index, int token, int relation_id) {
    edges_.push_back({id(level, index), token, relation_id});
  }

  void walk_right(int token) {
    int level = 0;
    int p = token + 1;
    int used = 0;
    while (p < size(level)) {
      for (int j = used; j < k_; ++j, ++p) {
        if (p < size(level)) add(level, p, token, relation(level, 2 * j + 2));
      }
      used = 0;
      if (p % 2 == 1) {
        const bool exists = p < size(level);
        if (slot_) {
          if (exists) add(level, p, token, relation(level + 1, 2));
          used = 1;
        } else if (exists) {
          add(level, p, token, relation(level, 2 * k_ + 2));
        }
        ++p;
      }
      p /= 2;
      ++level;
    }
  }

  void walk_left(int token) {
    int level = 0;
    int p = token - 1;
    int used = 0;
    while (p >= 0) {
      for (int j = used; j < k_; ++j, --p) {
        if (p >= 0) add(level, p, token, relation(level, 2 * j + 1));
      }
      used = 0;
      if (p < 0) return;
      if (p % 2 == 0) {
        if (slot_) {
          add(level, p, token, relation(level + 1, 1));
          used = 1;
        } else {
          add(level, p, token, relation(level, 2 * k_ + 1));
        }
        --p;
      }
      if (p < 0) return;
      p /= 2;
      ++level;
    }
  }

  int k_;
  bool slot_;
  int clip_;
  std::vector<int> sizes_;
  std::vector<int> firsts_;
  std::vector<Edge> edges_;
};

}  // namespace bough::test
