#pragma once

#include <functional>
#include <string>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"

/// What the benchmarks of graph attention run.
namespace bough::bench {

enum class AttentionPass { forward, both };

/// "forward" or "forward+backward".
const char* name_of(AttentionPass pass);

/// A graph to measure attention on.
struct AttentionPattern {
  std::string name;
  std::function<Graph()> make;
  bool relations = false;         ///< with relation keys
  bool compares_threads = false;  ///< two against one
};

/// One graph with everything that attention on it needs: 8 heads of width 64, float32.
class AttentionCase {
 public:
  explicit AttentionCase(const AttentionPattern& pattern);

  const std::string& name() const { return name_; }
  const Graph& graph() const { return graph_; }
  bool has_relations() const { return relation_keys_.defined(); }
  double edges() const { return static_cast<double>(graph_.num_edges()); }

  void run(AttentionPass pass, double dropout = 0);

  /// Multiplications and additions that no way of computing it avoids: q.k and p.v of every edge; backward both again
  /// (the weights are not kept) and their three gradients. Products with relation keys can be folded into others.
  double operations(AttentionPass pass) const;

  /// Bytes that a pass takes beyond its inputs, the result and their gradients; with the plan.
  std::int64_t extra_bytes(AttentionPass pass);

 private:
  void require_gradients(bool value);

  std::string name_;
  Graph graph_;
  Tensor q_, k_, v_, d_out_, relation_keys_;
};

}  // namespace bough::bench
